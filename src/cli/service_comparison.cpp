#include "cli/service_comparison.hpp"

#include <utility>

namespace weir::cli {
namespace {

constexpr std::string_view fixed = "fixed";

ServiceResult result_with(const Service& service, const NamedProtection& protection) {
  return result_of(service, protection.name, run_service(service, *protection.machine));
}

}  // namespace

std::vector<std::int64_t> fixed_limits_tried(const Service& service) {
  std::vector<std::int64_t> limits;
  for (const std::int64_t quarters : {4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80}) {
    limits.push_back((service.servers * quarters + 3) / 4);
  }
  return limits;
}

ServiceResult best_fixed(const Service& service) {
  ServiceResult best;
  for (const std::int64_t limit : fixed_limits_tried(service)) {
    const std::string name = std::string(fixed) + " " + std::to_string(limit);
    const auto protection = read_protection({.name = "--protect", .text = name});
    ServiceResult result = result_with(service, protection.value());
    if (best.protection.empty() || result.whole.in_time > best.whole.in_time) {
      best = std::move(result);
    }
  }
  return best;
}

Expected<std::vector<ServiceResult>, InputError> compare(const Service& service,
                                                         const std::vector<std::string>& names) {
  std::vector<ServiceResult> results;
  for (const std::string& name : names.empty() ? protection_names() : names) {
    if (name == fixed) {
      results.push_back(best_fixed(service));
      continue;
    }
    const auto protection = read_protection({.name = "--protect", .text = name});
    if (!protection) return protection.error();
    results.push_back(result_with(service, *protection));
  }
  return results;
}

}  // namespace weir::cli
