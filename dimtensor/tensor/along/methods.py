"""Methods of tensors that make windows, blocks and groups along dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dimtensor.tensor.along.bins import binned
from dimtensor.tensor.along.coarsen import Coarsen
from dimtensor.tensor.along.growing import Cumulative, RollingExp
from dimtensor.tensor.along.time import Resample, resampled
from dimtensor.tensor.along.windows import Rolling
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.reductions.basic import DimKey
from dimtensor.tensor.selection.groupby import GroupBy
from dimtensor.tensor.selection.indexing import gathered

if TYPE_CHECKING:
    from dimtensor.typing import ArrayLike, CoordFunction, DateLike, Duration, TensorLike


class WindowMixin(TensorHandle):
    """Methods that make windows, blocks and groups along dims."""

    __slots__ = ()

    def rolling(
        self,
        dim: Mapping[Any, Any] | None = None,
        min_periods: int | None = None,
        center: bool | Mapping[Any, bool] = False,
        **by_name: int,
    ) -> Rolling:
        """Make moving windows along dims, with reductions, as in xarray.

        Parameters
        ----------
        dim : dict of Dim or str to int or distance, optional
            Number of positions of the window along each dim; along regular dates also a time
            difference such as ``"7D"``.
        min_periods : int, optional
            How many elements a window must have for a result that is not NaN; by default all.
            Positions beyond the ends are no elements; NaN are none where they are skipped.
        center : bool or dict of Dim or str to bool
            Whether a window is centered at its position; by default it ends there.
        **by_name : int or distance

        Returns
        -------
        Rolling
            With ``mean``, ``sum``, ``prod``, ``min``, ``max``, ``var``, ``std``, ``median``,
            ``quantile``, ``any``, ``all``, ``argmin``, ``argmax``, ``count``, ``reduce`` and
            ``construct``, which take ``skipna=``. Integers become floats.

        Raises
        ------
        DimError
            If a dim is not there, or none is given.
        OptionError
            If the length of a window is no positive integer, or less than `min_periods`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 4.0, 8.0], dims=dt.Dim("day"))
        >>> x.rolling(day=2).mean().values.tolist()
        [nan, 1.5, 3.0, 6.0]
        >>> x.rolling(day=3, center=True, min_periods=1).sum().values.tolist()
        [3.0, 7.0, 14.0, 12.0]
        """
        given = gathered(dim, by_name, self.dims, "rolling", "lengths of windows")
        return Rolling._from(wrap(self.node), given, min_periods, center)

    def rolling_exp(
        self,
        window: Mapping[Any, float] | None = None,
        window_type: str = "span",
        **by_name: float,
    ) -> RollingExp:
        """Make exponentially weighted windows along a dim, as in xarray and pandas.

        Parameters
        ----------
        window : dict of Dim or str to number, optional
            Parameter of the decay along one dim.
        window_type : {"span", "com", "halflife", "alpha"}
            Meaning of the number: the weight ``alpha`` of a new element is ``2 / (span + 1)``,
            ``1 / (1 + com)``, ``1 - 0.5 ** (1 / halflife)``, or the number itself.
        **by_name : number

        Returns
        -------
        RollingExp
            With ``mean``, ``sum``, ``var``, ``std``, ``cov`` and ``corr``, which take ``skipna=``.

        Raises
        ------
        DimError
            If there is not one dim, which the tensor has.
        OptionError
            If the number is out of range, or the type is unknown.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 1.0, 4.0], dims=dt.Dim("day"))
        >>> x.rolling_exp(day=0.5, window_type="alpha").sum().values.tolist()
        [1.0, 1.5, 4.75]
        """
        given = gathered(window, by_name, self.dims, "rolling_exp", "windows")
        return RollingExp._from(wrap(self.node), given, window_type)

    def cumulative(self, dim: DimKey = None, min_periods: int = 1) -> Cumulative:
        """Make windows of all elements up to each position, as in xarray.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        min_periods : int
            How many elements there must be for a result that is not NaN; NaN are no elements where
            they are skipped.

        Returns
        -------
        Cumulative
            With ``sum``, ``mean``, ``prod``, ``min``, ``max``, ``var``, ``std``, ``any``, ``all``
            and ``count``, which take ``skipna=``.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([2.0, 4.0, 0.0], dims=dt.Dim("day"))
        >>> x.cumulative("day").mean().values.tolist()
        [2.0, 3.0, 2.0]
        """
        return Cumulative(wrap(self.node), dim, min_periods)

    def coarsen(
        self,
        dim: Mapping[Any, int] | None = None,
        boundary: str | Mapping[Any, str] = "exact",
        side: str | Mapping[Any, str] = "left",
        coord_func: CoordFunction = "mean",
        **by_name: int,
    ) -> Coarsen:
        """Make blocks of adjacent positions, with reductions, as in xarray.

        Parameters
        ----------
        dim : dict of Dim or str to int, optional
            Number of positions of a block along each dim.
        boundary : {"exact", "trim", "pad"} or dict of them by dim
            Treatment of positions that do not fill a block: an error, dropped, or padded; padding
            does not count in reductions.
        side : {"left", "right"} or dict of them by dim
            Whether blocks start at the first position, or end at the last one.
        coord_func : str, callable or dict of them by dim
            Reduction of the labels of a block to one: ``"mean"``, ``"min"``, ``"max"``,
            ``"median"``, ``"first"``, ``"last"``, or a function of NumPy. All but ``"mean"`` need
            known labels.
        **by_name : int

        Returns
        -------
        Coarsen
            With ``mean``, ``sum``, ``prod``, ``min``, ``max``, ``var``, ``std``, ``median``,
            ``any``, ``all``, ``count``, ``reduce`` and ``construct``.

        Raises
        ------
        DimError
            If the tensor lacks a dim, or a length is no multiple of the block and the boundary is
            exact.
        OptionError
            If a block is no positive integer, or an option is unknown.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 3.0, 5.0, 7.0], dims=dt.Dim("day", coords=[1, 2, 3, 4]))
        >>> weeks = x.coarsen(day=2).mean()
        >>> weeks.values.tolist(), weeks.dims[0].coords.tolist()
        ([2.0, 6.0], [1.5, 3.5])
        """
        given = gathered(dim, by_name, self.dims, "coarsen", "lengths of blocks")
        return Coarsen._from(wrap(self.node), given, boundary, side, coord_func)

    def resample(
        self,
        dim: Mapping[Any, Any] | None = None,
        *,
        closed: str | None = None,
        label: str | None = None,
        offset: Duration | None = None,
        origin: DateLike = "start_day",
        **by_name: str,
    ) -> Resample:
        """Group dates by a frequency, for reductions or for filling.

        Parameters
        ----------
        dim : dict of Dim or str to frequency, optional
            One dim with dates as labels, and a frequency or offset of pandas.
        closed, label : {"left", "right"}, optional
            Which end belongs to a group, and which end is its label; defaults are those of pandas.
        offset : str or timedelta, optional
            Offset from the origin.
        origin : str or date
            Origin of the bins, see ``pandas.DataFrame.resample``.
        **by_name

        Returns
        -------
        Resample
            Reductions have a dim of the same name with a date for each group, empty ones included.
            ``asfreq``, ``ffill``, ``bfill``, ``nearest`` and ``interpolate`` upsample.

        Raises
        ------
        LabelError
            If the labels are no dates, or not known.
        OptionError
            If the frequency is unknown.

        Examples
        --------
        >>> import dimtensor as dt
        >>> day = dt.date_range("day", start="2021-01-01", periods=4)
        >>> x = dt.data([1.0, 3.0, 5.0, 7.0], dims=day)
        >>> x.resample(day="2D").mean().values.tolist()
        [2.0, 6.0]
        >>> x.resample(day="12h").nearest().values.tolist()
        [1.0, 3.0, 3.0, 5.0, 5.0, 7.0, 7.0]
        """
        given = gathered(dim, by_name, self.dims, "resample", "frequencies")
        return resampled(wrap(self.node), given, closed, label, offset, origin)

    def groupby_bins(
        self,
        group: TensorLike,
        bins: int | ArrayLike,
        right: bool = True,
        labels: Sequence[Any] | None = None,
        precision: int = 3,
        include_lowest: bool = False,
        *,
        duplicates: Literal["raise", "drop"] = "raise",
    ) -> GroupBy:
        """Group the elements along a dim by intervals of the values of another tensor.

        Parameters
        ----------
        group : DimTensor
            Data along one dim of this tensor.
        bins : sequence of numbers, or int
            Edges of the intervals, in ascending order, or a number of intervals of equal length.
        right : bool
            Whether intervals include their right end or their left end.
        labels : sequence, optional
            Labels of the intervals; the intervals themselves by default.
        precision : int
            Number of digits of the ends of intervals in labels.
        include_lowest : bool
            Whether the first interval includes its left end, or the last one its right end.
        duplicates : {"raise", "drop"}
            Whether repeated edges are an error.

        Returns
        -------
        GroupBy
            Along a dim with the name of the group and ``_bins``. Elements outside of all intervals
            are left out.

        Raises
        ------
        DimError
            If the values have not exactly one dim, which must be a dim of the tensor.
        OptionError
            If the edges do not ascend.
        GraphError
            If the values of the groups are not known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> age = dt.data([3.0, 30.0, 50.0, 99.0], dims=obs, name="age")
        >>> x = dt.data([1.0, 2.0, 4.0, 8.0], dims=obs)
        >>> x.groupby_bins(age, [0, 18, 65], labels=["child", "adult"]).sum().values.tolist()
        [1.0, 6.0]
        """
        return binned(
            wrap(self.node), group, bins, right, labels, include_lowest, precision, duplicates
        )
