"""Methods of tensors that go along the order of a dim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dimtensor.tensor.along.bins import binned
from dimtensor.tensor.along.coarsen import Coarsen
from dimtensor.tensor.along.growing import Cumulative, RollingExp
from dimtensor.tensor.along.time import Resample, resampled
from dimtensor.tensor.along.windows import Rolling
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.reductions.basic import DimKey
from dimtensor.tensor.selection.groupby import GroupBy
from dimtensor.tensor.selection.indexing import gathered


class WindowMixin(TensorHandle):
    """Windows and blocks of neighbouring positions."""

    __slots__ = ()

    def rolling(
        self,
        dim: Mapping[Any, Any] | None = None,
        min_periods: int | None = None,
        center: bool | Mapping[Any, bool] = False,
        **by_name: Any,
    ) -> Rolling:
        """Moving windows along dims, with reductions, as in xarray.

        Parameters
        ----------
        dim : dict of Dim or str to int or distance, optional
            The number of positions of the window along each dim; of regular dates also a distance
            between them, such as ``"7D"``.
        min_periods : int, optional
            How many elements a window must have for a result that is not NaN; by default all.
            Positions beyond the ends are no elements; NaN are none where they are skipped.
        center : bool or dict of Dim or str to bool
            Whether a window lies around its position; by default it ends there.
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
            If a window is no positive integer, or shorter than `min_periods`.

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
        """Means and sums whose weights fade exponentially, as in xarray and pandas.

        Parameters
        ----------
        window : dict of Dim or str to number, optional
            The window along one dim.
        window_type : {"span", "com", "halflife", "alpha"}
            What the number is: the share ``alpha`` of a new element is ``2 / (span + 1)``,
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
            If the number or the type is not allowed.

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
        """Windows that grow: reductions of all elements up to each position, as in xarray.

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
        coord_func: Any = "mean",
        **by_name: int,
    ) -> Coarsen:
        """Blocks of neighbouring positions, each reduced to one, as in xarray.

        Parameters
        ----------
        dim : dict of Dim or str to int, optional
            The number of positions of a block along each dim.
        boundary : {"exact", "trim", "pad"} or dict of them by dim
            What becomes of positions that fill no block: there must be none, they are left out, or
            the block is filled up and reduced without what fills it.
        side : {"left", "right"} or dict of them by dim
            Whether blocks begin at the first position, or end at the last one.
        coord_func : str, callable or dict of them by dim
            What makes one label of those of a block: ``"mean"``, ``"min"``, ``"max"``,
            ``"median"``, ``"first"``, ``"last"``, or a function of NumPy. All but ``"mean"`` need
            labels that are known.
        **by_name : int

        Returns
        -------
        Coarsen
            With ``mean``, ``sum``, ``prod``, ``min``, ``max``, ``var``, ``std``, ``median``,
            ``any``, ``all``, ``count``, ``reduce`` and ``construct``.

        Raises
        ------
        DimError
            If a dim is not there, or its length is no multiple of the block where it must be.
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
        offset: Any = None,
        origin: Any = "start_day",
        **by_name: Any,
    ) -> Resample:
        """Groups of dates by a frequency, with the reductions of `groupby`, or filled.

        Parameters
        ----------
        dim : dict of Dim or str to frequency, optional
            One dim with dates as labels, and a frequency or offset as pandas has it.
        closed, label : {"left", "right"}, optional
            Which end belongs to a group, and which one names it; defaults are those of pandas.
        offset : str or timedelta, optional
            What is added to the origin.
        origin : str or date
            What the ends of groups are counted from, see ``pandas.DataFrame.resample``.
        **by_name

        Returns
        -------
        Resample
            Along a dim of the same name with a date for each group, those without elements
            included: their sum and count are 0, and what has no value is NaN. ``asfreq``,
            ``ffill``, ``bfill``, ``nearest`` and ``interpolate`` put elements on more dates.

        Raises
        ------
        LabelError
            If the labels are no dates, or not known.
        OptionError
            If it is no frequency.

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
        group: Any,
        bins: Any,
        right: bool = True,
        labels: Sequence[Any] | None = None,
        precision: int = 3,
        include_lowest: bool = False,
        *,
        duplicates: Literal["raise", "drop"] = "raise",
    ) -> GroupBy:
        """Group the elements along a dim by the interval that another tensor lies in.

        Parameters
        ----------
        group : DimTensor
            Data along one dim of this tensor.
        bins : sequence of numbers, or int
            The edges of the intervals, in ascending order, or a number of intervals of equal
            length.
        right : bool
            Whether intervals have their right end or their left one.
        labels : sequence, optional
            Labels of the intervals in place of the intervals themselves.
        precision : int
            Digits of the ends of intervals in labels.
        include_lowest : bool
            Whether the end that no interval has belongs to the one beside it.
        duplicates : {"raise", "drop"}
            Whether edges that are there twice are an error.

        Returns
        -------
        GroupBy
            Along a dim that is named as the group, with ``_bins``. What lies in no interval is left
            out.

        Raises
        ------
        DimError
            If the groups have not exactly one dim, which the tensor has.
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
