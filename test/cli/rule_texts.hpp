// Rule files that tests of the program read.
#pragma once

#include <unistd.h>

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

namespace weir::test {

inline std::string file_of(const std::string& name, std::string_view text) {
  std::string path = testing::TempDir() + std::to_string(getpid()) + '-' + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

inline constexpr std::string_view shop_rules = R"(domain: shop
clients: {user_header: X-User}
rules:
  - name: login
    match: {route: /login, method: POST}
    key: "{ip}"
    limit: 5/1m
    overrides: {10.9.9.9: unlimited, 6.6.6.6: blocked}
  - name: api
    match: {route: [/api/*, /v2/*], header: {x-plan: free}}
    key: "{user}"
    limit: sliding-log 100/1m
    shadow: true
    candidates: [10/1s]
  - name: inside
    match: {ip: 10.0.0.0/8}
    limit: unlimited
    replaces: [login]
  - name: tenant
    match: {descriptor: {tenant: , plan: gold}}
    key: "{descriptor.tenant}"
    missing: refuse
    limit: 10/s & 1000/1d
)";

inline constexpr std::string_view envoy_rules = R"(domain: basic
descriptors:
  - key: plan
    value: gold
    rate_limit: {name: gold, unit: minute, requests_per_unit: 30}
  - key: plan
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: plan
    value: free*
    shadow_mode: true
    rate_limit: {unit: second, requests_per_unit: 0}
  - key: plan
    value: staff
  - key: tenant
    value: t1
    rate_limit: {unit: day, requests_per_unit: 15, replaces: [{name: gold}]}
    descriptors:
      - key: plan
        value: gold
        rate_limit: {unit: day, requests_per_unit: 25}
)";

}  // namespace weir::test
