// The first day of somebody whose handlers have limits.
#include <chrono>
#include <iostream>

#include "weir/http/access_limit.hpp"

int main() {
  using namespace std::chrono_literals;
  const auto limits =
      weir::http::AccessLimits::of({{.path = "/reply", .max_count = 1, .within = 60s}});
  const weir::http::Visit visit{.method = "POST", .path = "/reply", .user = "alice"};
  const bool first = !limits.decide(visit);
  const auto second = limits.decide(visit);
  if (second) std::cout << second->reply.status << " " << second->reply.body << "\n";
  return first && second ? 0 : 1;
}
