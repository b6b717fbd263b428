"""Numeric limits of the engine: from which size on one way of computing is chosen over another.

Each number has its reason, and in parentheses the benchmark case (``tests/benchmarks/cases``), the
posterior or the page of ``docs/design`` by which it, or the way that it limits, was judged. "Not
measured" are guards against worst cases, and numbers that were never compared with others.

Not here: what follows from a format, a library or a processor (offsets of structures, coefficients
and ranges of approximations, digits of a dtype). Settings of users are in ``dimtensor.settings``.
"""

from __future__ import annotations

# --- Unrolling -----------------------------------------------------------------------------------

# The one limit of unrolling: lengths up to it are constants of the code, axes of that length become
# arrays (`optimize`), loops of that length are unrolled by the emitter or left to LLVM to unroll,
# and are then neither jammed nor strip-mined (`mixture`, `hmm`, `ldaK2`).
UNROLLED_LENGTH = 8
# Rows of a matrix whose products and decompositions are loops; larger matrices are passed to BLAS
# and LAPACK (compile-time.md).
LOOPED_MATRIX_ROWS = UNROLLED_LENGTH
# Short axes stay where unrolling them would make more operations of the graph (not measured).
UNROLLED_OPERATIONS = 1_000
# Products that are summed over a short axis are cheap: the axis may be longer (kernels.md).
UNROLLED_PRODUCT_LENGTH = 16
UNROLLED_PRODUCTS = 128
# Statements of an unrolled loop in a step of a scan, whose arrays LLVM then keeps in registers
# (not measured).
UNROLLED_STATEMENTS = 400
# Statements that LLVM may copy by unrolling short loops around vectorized ones: beyond, it takes
# 2.7 times as long for code that is 1.05 times faster (`ldaK5`).
COPIED_STATEMENTS = 800
# Factors of unroll and jam by the number of statements, which registers bound (`rnn`, `accel_gp`).
JAM_FACTORS = ((14, 4), (30, 2))  # statements, iterations
# Elements of an array, 2 MB, beyond which its rows are read one after the other if they are shorter
# than that: four at a time take 1.2 to 1.3 times as long (`effect` of 100 and 200).
JAMMED_ELEMENTS = 2**18
JAMMED_ROW = 512
# Rows of a triangle are computed to a multiple of this number of columns, so that vectors are
# whole; 16 are not faster (`gp`).
TRIANGLE_COLUMNS = 8

# --- Cost of operations --------------------------------------------------------------------------

# Classes of cost of an operation per element, in sums or products: measured on AVX2, roughly.
QUICK, DIVISION, CALL = 1, 3, 10
# Levels of a sort, log2 of its length, which is not a polynomial: a million elements.
SORT_DEPTH = 20
# Comparisons and moves per sorted element and level (not measured).
SORT = 2
# Denominators up to this one are written as fractions in the cost of an expression.
LARGEST_DENOMINATOR = 24

# --- Sums ----------------------------------------------------------------------------------------

# Elements of a sum that are added without compensation. 1,024 numbers fit into the first cache
# (accuracy: kernels.md#arithmetic).
SUM_BLOCK = 1024
# Numbers of single precision that are added in single precision, as in NumPy's pairwise sum.
FLOAT32_TERMS = 128
# Shares of chunks that one task of dask combines; a power of two, so that the tasks make up one
# binary tree (scale.md).
COMBINED_SHARES = 16
# Terms of an addition in one statement; longer sums are several (not measured).
STATEMENT_TERMS = 8
# Powers of a factor that leave a sum (not measured).
FACTORED_POWER = 4
# Products of more factors stay in their sum, and shared ones in the steps of loops are not opened:
# that takes quadratic time (not measured).
FACTORED_OPERANDS = 16
# Reductions of one array that become reductions of its terms, to share their loop (not measured).
SPLIT_REDUCTIONS = 3
# Sums of equal shape become one sum from this number on: their accumulators were most of the loop
# in gradients of long recursions (unrolled by hand).
JOINED_SUMS = 8
# Terms of a sum of logarithms of which one product takes the logarithm: eight numbers between
# 2**-100 and 2**100 have a product that is normal, and so has their error.
LOGARITHM_FACTORS = 8
# From exp(-700) to exp(700) products are normal numbers, and so are sums of some of them (`ldaK5`).
EXPONENT_RANGE = 700.0

# --- Loops: strips, scatter-adds, order ----------------------------------------------------------

# Elements of a strip: its buffers stay in the first cache (`hier_2pl`, `radon`).
STRIP_ELEMENTS = 256
# Loops that are known to be shorter are not strip-mined: 30 elements gain nothing (kernels.md).
STRIP_MINED_ITERATIONS = 64
# Arrays that updates by data go to in turn, so that consecutive elements of one group need not wait
# for each other's store: 2.4 times faster for sorted groups (kernels.md).
SCATTER_COPIES = 8
# Steps of a scan that alternate with loops over their results (`garch`, `arma`).
SCAN_STRIP_STEPS = 64
# Loops of a nest whose orders are all compared; 120 orders of five (not measured).
PERMUTED_LOOPS = 5
# Calls that another copy of the loop must save (`ldaK5`).
UNSWITCHED_CALLS = 2
# Loop-invariant conditions by which a loop is copied: four copies (`ldaK5`).
UNSWITCHED_CONDITIONS = 2
# Arrays of fewer elements are not overwritten by others: they lie side by side in the frame, or in
# one block (`rnn`, `ldaK2`).
REUSED_ARRAY_ELEMENTS = 2**12

# --- Storing or recomputing ----------------------------------------------------------------------

# Places at which a cheap element is recomputed before it is stored (not measured).
RECOMPUTED_PLACES = 4
# Depth of the recursion that writes the expression of an element: bounded by Python's stack.
INLINED_DEPTH = 50
# Cost from which on a value that depends on data alone is computed once per data set: cheaper
# elements are recomputed faster than they are read (`garch`, kernels.md).
DATA_ONLY_COST = 3
# Cost of a gather, and of neighbors that are apart in memory.
GATHER_COST = 2
# Elements of an array that is always kept, whatever it was computed from: 32 kB (not measured).
DATA_ONLY_ELEMENTS = 4096

# --- LLVM's compile time -------------------------------------------------------------------------

# Operations of a body beyond which its loop has a given vector width and a masked last iteration
# (native.md, compile-time.md).
VECTORIZED_OPERATIONS = 400
# Nests of expensive elements beyond which their innermost loops have them, too: LLVM takes
# hundredths of a second for each (`hmm_gaussian`, compile-time.md).
EXPENSIVE_NESTS = 16
# Iterations of a loop of known length from which on it has them: shorter ones are unrolled
# (`hmm_drive_0` with two states 1.4 times faster, `hmm_gaussian` with three 1.03 times slower).
HINTED_ITERATIONS = 3
# Statements per element that is not adjacent to those of other iterations, below which the last
# iteration is not masked: LLVM writes a branch for each lane of such an element (native.md).
STATEMENTS_PER_SCATTERED = 64
# Loops of unknown length from which on each nest is a function: fewer take tenths of a second, and
# LLVM sees all of them at once. LLVM unrolls loops of known lengths: they do not count
# (`hierarchical_gp`).
OUTLINED_LOOPS = 20
# Statements of a vectorized body over a few positions beyond which it is cut into loops of so many:
# LLVM takes the square of a vectorized body. Loops of 500, which leave 250 values, are not
# vectorized (chains of 600 to 3,000 operations, compile-time.md).
FISSION_STATEMENTS = 2_000
FISSIONED_STATEMENTS = 200
# Statements of a vectorized body beyond which it is scalar code, cut into functions: LLVM takes the
# square of a vectorized body, two minutes for this many, and scalar code runs seven times longer
# (compile-time.md).
VECTORIZED_STATEMENTS = 30_000
# Statements of a block that is cut into functions of so many: register allocation takes the square
# of a block (expressions of 9,999 operations, compile-time.md).
SPLIT_STATEMENTS = 3_000
PART_STATEMENTS = 200
# Calls of vector functions that are inlined; with more, a module compiles in a fraction of the time
# and runs up to a quarter longer (100 steps of `tanh`, unrolled). Scalar calls count twice, since
# LLVM copies their loops.
INLINED_CALLS = 64
# Lines of a module beyond which the SLP vectorizer is off: it compares each statement with many
# others. `kalman` of four states has 11,000 lines, and is 1.5 times faster with it.
SLP_LINES = 20_000
# Loops of a module beyond which strength reduction is off: it takes a third of the time of writing
# machine code, and gains one or two hundredths (compile-time.md).
STRENGTH_REDUCED_LOOPS = 60
# Blocks of a module beyond which only passes of linear complexity run: all of LLVM's take minutes
# for twice as many (derivatives of batched decompositions, native.md).
OPTIMIZED_BLOCKS = 8_000
# Whole powers that are products, by repeated squaring (accuracy: kernels.md#arithmetic).
SQUARED_POWER = 64
# Half powers that are products and a square root (not measured).
ROOTED_POWER = 4

# --- Memory of kernels ---------------------------------------------------------------------------

# Arrays of known lengths in the frame: up to so many bytes each, and larger ones while there is
# room. To get a block and give it back takes 0.15 µs (`garch`, `kalman`).
FRAME_ARRAY_BYTES, FRAME_BYTES = 2**11, 2**14
# Larger ones share a block of the heap (`lotka_volterra`: 1.1 times faster).
POOLED_ARRAY_BYTES, POOL_BYTES = 2**15, 2**20
# Bytes that kernels of a process keep between calls, and of the smallest block that is kept:
# malloc finds smaller ones faster than their pages are lost (`rolling`, `glm`, `kalman`).
KEPT_BYTES, KEPT_BLOCK_BYTES = 64 * 2**20, 2**15
# Iterations of a while loop between two looks for signals, each of which waits for Python's lock.
SIGNAL_ITERATIONS = 4096

# --- Loops of steps, and their gradients ---------------------------------------------------------

# Tangents that a loop carries instead of a reverse pass: above, `garch` of order (2, 2) is 1.2
# times slower (positional-loops.md). XLA hands loops of more than three to another thread.
CARRIED_TANGENTS = 8
JAX_CARRIED_TANGENTS = 3
# Products of tangents and partial derivatives in a step (positional-loops.md).
TANGENT_PRODUCTS = 12
# Values of a step that a sum beside the loop reads: each is an array as long as the loop (`hmm`;
# the number is not measured).
TRACED_FACTORS = 4
# Operations of a sum beside the loop: longer ones stay, since searching all of them takes quadratic
# time (not measured).
TRACED_OPERATIONS = 500
# Sums that leave a loop, for the same reason (not measured).
SUMS_BESIDE_LOOP = 6
# Elements of an array whose sum over steps stays in the loop (not measured).
STEP_SUM_ELEMENTS = 64
# Sums of traces that enter a loop again, and operations of their terms. Without such sums `kalman`
# of 200 and 1,000 steps takes 1.20 and 1.03 of the time, recursions of first order with 2 to 4 sums
# 1.05 to 1.10, `newton` 1.03; but `arma` 0.96 to 0.99 and `arma11` 0.95. The limits are not
# measured.
SUMS_IN_LOOP = 8
SUM_IN_LOOP_OPERATIONS = 6
# Operations per element that a step repeats rather than read a sequence (not measured).
STEP_OPERATIONS = 6
# Sums and products beyond which a value of a step is traced for the reverse pass; a quotient is
# always (positional-loops.md).
RECOMPUTED_STEP_OPERATIONS = 4
# Numbers in a row of the trace of a loop inside of a step (`lotka_volterra`, `sir`).
TRACED_ROW = 256
# Rows of such traces for which there is room before they grow (not measured).
TAPE_ROWS = 256
# Maximal steps from which on the gradient of a while loop in a step is checkpointed on JAX, which
# clears room for all of them (loops.md).
CHECKPOINTED_STEPS = 100
# Levels of checkpoints: with six, a million steps store some 60 states (positional-loops.md).
CHECKPOINT_LEVELS = 6
# Axes of a constant that may be a shape, which JAX needs when it traces a loop.
SHAPE_AXES = 8
# Evaluations of a step until the dtypes of its states agree: they widen from bool over integers and
# floats to complex at most, and dims are added once.
DTYPE_TRIALS = 16
# Rounds of rewriting loops, each of which makes them smaller or fewer (not measured).
LOOP_REWRITE_ROUNDS = 8
# Variables of an expression of constants that is compared with another (not measured).
COMPARED_EXPRESSION = 16

# --- Rewriting -----------------------------------------------------------------------------------

# Applications of rules per node after which rewriting stops: a guard against rules that undo each
# other.
RULE_APPLICATIONS = 60
# Elements of a constant that is compared by value; larger ones are compared by identity.
COMPARED_CONSTANT = 10_000
# Elements of a constant by whose value bodies of loops are told apart (not measured).
IDENTIFIED_CONSTANT = 64
# Elements of a constant that is computed when code is made, though its operands have fewer: code
# stays small (not measured).
FOLDED_ELEMENTS = 64
# Nodes of a selection's arms that are searched for its condition (not measured).
SEARCHED_ARMS = 24
# Updates of one array that are looked through: keeps the search linear (not measured).
SEARCHED_UPDATES = 50
# Operations that are searched for a pole, of a factor and of a cotangent (of products of matrices
# and of loops only): a sum of thousands of terms is not searched for each of them (not measured).
POLE_SEARCH = 32
COTANGENT_POLE_SEARCH = 1_000
# Iterations of series and of their derivatives, which converge long before: a guard against endless
# loops. A tangent that moves by less, relatively, has converged.
SERIES_TERMS = 1_000_000
CONVERGED_TANGENT, TANGENT_TERMS = 1e-12, 2_000

# --- Lowering and layout -------------------------------------------------------------------------

# Length that contractions assume for dims of unknown length, and the number of operands up to which
# all orders are compared.
ASSUMED_LENGTH = 1_000
CONTRACTED_OPERANDS = 5
# Costs of an order of axes, per element; only their ratios matter (`layout`, layout.md).
SHORT_INNERMOST = 6
SUMMED_INNERMOST = 2
EXTREME_INNERMOST = 60
COLUMN_WRITTEN = 15
ROW_ACROSS = 4
REDUCED_INSIDE = 2
REREAD = 1
RUNNING_INNERMOST = 8
COPY = 10
TRANSPOSED_READ = 5
# Passes over all dims in search of a better order (not measured).
LAYOUT_SWEEPS = 4
# Plans cached per node, one for each set of outputs and lengths.
LAYOUTS_PER_NODE = 16

# --- Compiling and caching -----------------------------------------------------------------------

# Rounds of color refinement that tell nodes of a graph apart (compile-time.md).
REFINEMENT_ROUNDS = 2
# Rows of a matrix multiplied in a step of a loop whose number is a constant of the code: twice as
# fast (compile-time.md).
SPECIALIZED_ROWS = 16
# Functions that the process keeps, each of some ten kilobytes.
KEPT_FUNCTIONS = 256
# Sets of lengths and labels for which a function keeps frames of its results.
KEPT_FRAMES = 16
# Seconds that a process waits for the others of a mesh to make the same function.
AWAITED_SECONDS = 60
# Failed checks that are interpreted for their message: samplers hit them often.
KEPT_FAILURES, KEPT_FAILURE_BYTES = 16, 2**25
# Integers in an argument that is compared by value with the argument of the last call.
COMPARED_INTEGERS = 100_000
# New objects between two runs of the garbage collector while code is made: with the default of 700
# collections take half of a cache hit (compile-time.md).
COLLECTED_OBJECTS = 100_000
# Part of the cache's limit that eviction leaves, so that not every write evicts.
EVICTED_SHARE = 0.8
# Bytes of XLA's cache per byte of other code.
XLA_CACHE_SHARE = 4
# Seconds after which work shows its progress, and between two states of the line.
PROGRESS_PATIENCE, PROGRESS_PERIOD = 2.0, 0.25
# Seconds between two lines in a log, and before the first one.
PROGRESS_LOG_PERIOD = 10.0
# Most draws of a block of a sampler on JAX, draws of a block on several devices, and seconds that a
# block takes: an interruption waits for one.
JAX_BLOCK, JAX_BLOCK_OF_DEVICES, JAX_BLOCK_SECONDS = 100, 50, 0.1

# Characters of a label beside a forest plot.
FOREST_LABEL = 23

# Terms of a log density that differ only in scalars become one vectorized term if there are this
# many, of at most this many operations (scale.md).
FEWEST_ALIKE_TERMS = 16
ALIKE_TERM_NODES = 64

# --- Slices for threads --------------------------------------------------------------------------

# Time of a sum or product, relative to the 0.05 ns of reading a byte. A library's function has a
# weight of its own, `CALL`. The estimates of 14 log densities with gradients, of 10**5 to 10**6
# observations, are within a factor of two of their times (`threads`, scale.md).
QUICK_OPERATION = 0.3
# Work of a slice, in bytes: 0.06 to 0.12 ms, fifty times what its call takes (`threads`, scale.md).
SLICE_WORK = 1_250_000
# Rows of a block in which loops run (`BLOCK`); long slices have whole ones.
SLICE_BLOCK = 256
# With work for fewer slices, a quarter of a millisecond, threads gain little: a call takes up to
# 0.07 ms outside of its slices where the caches are full of data (`threads`, `effect`).
FEWEST_SLICES = 4
# Work of a slice for each element of its results, which are written and added (not measured).
SLICE_RESULTS = 32
# Elements of a result along the dim that is copied from a buffer: 30 us less than a new address for
# each slice, when the caches are full of data (`effect`).
COPIED_RESULTS = 4096
# Slices: twice as many as a large machine has cores, four times as many as most have.
MOST_SLICES = 256
# Bytes of data that slices read in a narrower dtype, if one holds them; less stays in the cache.
NARROWED_BYTES = 2**20
# Seconds for which a thread waits actively for others' last slices, and a helper for the next call:
# a slice takes 0.1 ms, and Python as long between calls. To wake a thread takes 50 us (`threads`).
HELPER_WAIT = 200e-6
# Slices that the calling thread computes between two looks for interruptions (not measured).
OWN_SLICES = 16
# Seconds that it sleeps, where helpers need longer, before it looks again (not measured).
OWN_NAP = 0.02

# --- Clusters ------------------------------------------------------------------------------------

# How often an evaluation sends chunks of lost workers again before it is an error (not measured).
CLUSTER_ATTEMPTS = 5
# Seconds before the second attempt; as many more before each further one (not measured).
CLUSTER_PAUSE = 0.2
# Seconds to wait for a worker where there is none, and between looks at workers that compute.
CLUSTER_PATIENCE = 30.0
# Bytes of a vector that is sent to each worker once, and not with each task (not measured).
SENT_VECTOR = 2**17

# --- JAX -----------------------------------------------------------------------------------------

# Elements of arrays that enter and leave as one: each array costs microseconds, whatever its size
# (`call`, jax.md).
PACKED_ELEMENTS = 1024
# Bytes of a result that is awaited: if there is no memory for it, an error is raised instead of a
# crash.
AWAITED_BYTES = 2**16
# Rows of a matrix whose decompositions are unrolled (not measured).
JAX_UNROLLED_ROWS = 3
# An update is made in place where the array has more elements and the slice is a smaller part: a
# padded addend is a pass over the array that fuses (jax.md).
UPDATED_ELEMENTS, UPDATED_PART = 4096, 8
# Elements of a matrix whose product with a vector is a call of XLA's library, outside and inside of
# steps (`glm`, `rnn`, jax.md).
LIBRARY_PRODUCT, LIBRARY_PRODUCT_IN_STEPS = 4096, 128
# Axes of a product of matrices that is a sum of products, and elements of it (`kalman`, jax.md).
SHORT_PRODUCT, SHORT_PRODUCT_ELEMENTS = 12, 10_000
# Elements of a constant that is computed while JAX traces: XLA computes larger ones, and may fuse
# them.
TRACED_CONSTANT = 64
# Iterations of quantile functions, and terms of their series: guards, as they converge before.
NEWTON_STEPS, FRACTION_TERMS = 60, 100_000

# --- Texts ---------------------------------------------------------------------------------------

# Values, labels, operands and terms that a text shows before it says that there are more.
SHOWN_VALUES = 3
SHOWN_LABELS = 4
SHOWN_FAILURES = 4
SHOWN_OPERANDS = 5
SHOWN_TERMS = 8
# Characters of a line of an error text, and of a column of a printed graph.
TEXT_WIDTH = 76
COLUMN_WIDTH = 64
# Threads for which a node records when their code asked for it.
RECORDED_THREADS = 16
