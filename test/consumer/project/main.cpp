// What somebody writes on the first day with weir installed.
#include <iostream>

#include "weir/vocabulary.hpp"

int main() {
  const weir::Decision decision{.verdict = weir::Verdict::granted, .limit = 5, .remaining = 4};
  std::cout << weir::name(decision.verdict) << ", " << decision.remaining << " left\n";
  return weir::taken(decision.verdict) ? 0 : 1;
}
