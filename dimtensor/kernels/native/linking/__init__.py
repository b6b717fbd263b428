"""From object files to functions in memory, and to functions of other libraries; without LLVM."""
