// Callers in processes of their own.
#pragma once

#include <span>
#include <string>

namespace weir::test {

/// What the program does when it is run as `weir_faults --worker URL CLIENT MILLISECONDS FILE`:
/// asks for so long, and leaves its calls in the file. Returns the exit status.
int work(std::span<char* const> arguments);

}  // namespace weir::test
