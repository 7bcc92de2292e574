// The local table as a host under test.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "test/host/differential.hpp"
#include "weir/local/table.hpp"

namespace weir::host {

class TableHost : public Host {
 public:
  struct Shape {
    std::string name;
    std::size_t shards = 256;
    std::size_t swept_each_call = 0;  ///< states looked at for dropping, before each call
  };

  explicit TableHost(Shape shape)
      : shape_(std::move(shape)), table_({.shards = shape_.shards, .hash_key = {1, 2}}) {}

  std::string name() const override { return shape_.name; }

  Decision take(const Subject& subject, const Request& request, std::size_t ticket) override {
    sweep(request.now);
    Grant grant;
    const Decision decision = table_.take(here(subject), request, &grant).decision;
    if (taken(decision.verdict)) grants_[ticket] = grant;
    return decision;
  }

  Decision peek(const Subject& subject, const Request& request) override {
    sweep(request.now);
    return table_.peek(here(subject), request).decision;
  }

  Cost cancel(const Subject& subject, Instant now, std::size_t ticket) override {
    sweep(now);
    return table_.cancel(here(subject), now, grants_.at(ticket));
  }

  Cost refund(const Subject& subject, Instant now, Cost units) override {
    sweep(now);
    return table_.refund(here(subject), now, units);
  }

  Cost leave(const Subject& subject, Instant now, PermitId permit) override {
    sweep(now);
    return table_.leave(here(subject), now, permit);
  }

  Span renew(const Subject& subject, Instant now, PermitId permit) override {
    sweep(now);
    return table_.renew(here(subject), now, permit);
  }

  bool reset(const Subject& subject, Instant) override { return table_.reset(here(subject)); }

  void idle(Instant now) override { table_.sweep(now, 64); }

  Table::Stats stats() const { return table_.stats(); }

 private:
  void sweep(Instant now) {
    if (shape_.swept_each_call > 0) table_.sweep(now, shape_.swept_each_call);
  }

  weir::Subject here(const Subject& subject) {
    return {rules_.find(subject.limit.text()).value(), subject.key};
  }

  Shape shape_;
  Rules rules_;
  Table table_;
  std::map<std::size_t, Grant> grants_;
};

}  // namespace weir::host
