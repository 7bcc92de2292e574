// Two a minute, and a third that is refused: the archives are linked and decide.
#include <iostream>

#include "weir/local/clock.hpp"
#include "weir/local/table.hpp"

int main() {
  weir::Rules rules;
  weir::Table table;
  weir::UnixClock clock;
  const weir::Rule* login = rules.add({"login", "2/1m"}).value();
  weir::Verdict last{};
  for (int call = 0; call < 3; ++call) {
    last = table.take({login, "alice"}, {clock.now()}).decision.verdict;
    std::cout << weir::name(last) << '\n';
  }
  return last == weir::Verdict::denied ? 0 : 1;
}
