#include "redis/store_reply.hpp"

#include <utility>

namespace weir::redis {
namespace {

using wire::Reply;
using wire::ReplyType;

StoreReply answered(StoreReply::Kind kind) {
  return {.outcome = CallOutcome::answered, .kind = kind};
}

StoreReply with_text(StoreReply::Kind kind, std::string text) {
  StoreReply out = answered(kind);
  out.text = std::move(text);
  return out;
}

StoreReply of_elements(const Reply& reply) {
  StoreReply out = answered(StoreReply::Kind::integers);
  out.integers.reserve(reply.elements.size());
  for (const Reply& element : reply.elements) {
    if (element.type != ReplyType::integer) {
      return with_text(StoreReply::Kind::error, "expected integers alone in an array");
    }
    out.integers.push_back(element.integer);
  }
  return out;
}

}  // namespace

StoreReply to_store_reply(Reply&& reply) {
  switch (reply.type) {
    case ReplyType::null: return answered(StoreReply::Kind::none);
    case ReplyType::simple:
    case ReplyType::bulk:
    case ReplyType::verbatim:
    case ReplyType::big_number: return with_text(StoreReply::Kind::text, std::move(reply.text));
    case ReplyType::error: return with_text(StoreReply::Kind::error, std::move(reply.text));
    case ReplyType::integer:
    case ReplyType::boolean: {
      StoreReply out = answered(StoreReply::Kind::integers);
      out.integers.push_back(reply.integer);
      return out;
    }
    case ReplyType::array: return of_elements(reply);
    case ReplyType::number:
    case ReplyType::map:
    case ReplyType::set:
    case ReplyType::push: break;
  }
  return with_text(StoreReply::Kind::error, "expected integers, a text or null as the reply");
}

}  // namespace weir::redis
