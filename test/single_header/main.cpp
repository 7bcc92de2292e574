// The other unit: it compiles the functions, though it has met the header before.
#include <weir.hpp>
#define WEIR_IMPLEMENTATION
#include <weir.hpp>

#include <cstdio>

int limits_keep_their_promise();

int main() {
  const int broken = limits_keep_their_promise();
  if (broken != 0) std::fprintf(stderr, "promise %d of limits.cpp is broken\n", broken);
  return broken;
}
