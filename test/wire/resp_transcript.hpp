// What a session or a client would hear in a stream of bytes that comes in pieces.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "wire/resp_reader.hpp"
#include "wire/resp_reply.hpp"
#include "wire/resp_request.hpp"

namespace weir::wire {

using Pieces = std::vector<std::string_view>;

/// All commands of a stream, and how it stands at its end.
struct RequestTranscript {
  std::vector<std::vector<std::string>> commands;  ///< empty ones too
  RequestStatus status = RequestStatus::incomplete;
  RequestFault fault = RequestFault::none;
  char found = '\0';
  std::size_t left = 0;        ///< bytes that belong to no complete command
  bool needed_misled = false;  ///< a verdict came with fewer bytes than `needed` had promised

  bool operator==(const RequestTranscript&) const = default;
};

inline RequestTranscript hear_requests(RequestParser& parser, const Pieces& pieces) {
  RequestTranscript heard;
  Arguments arguments;
  std::string buffer;
  std::size_t start = 0;
  std::size_t needed = 0;
  for (const std::string_view piece : pieces) {
    buffer += piece;
    while (start != buffer.size()) {
      const std::string_view bytes = std::string_view(buffer).substr(start);
      const ParsedRequest parsed = parser.parse(bytes, arguments);
      heard.status = parsed.status;
      heard.left = bytes.size() - parsed.consumed;
      const bool incomplete = parsed.status == RequestStatus::incomplete;
      if (incomplete && parsed.needed <= bytes.size()) heard.needed_misled = true;
      if (!incomplete && bytes.size() < needed) heard.needed_misled = true;
      needed = parsed.needed;
      if (incomplete) break;
      if (parsed.status == RequestStatus::malformed) {
        heard.fault = parsed.fault;
        heard.found = parsed.found;
        heard.left = 0;  // How much of it had arrived depends on the pieces.
        return heard;
      }
      heard.commands.emplace_back(arguments.begin(), arguments.end());
      start += parsed.consumed;
    }
  }
  if (start == buffer.size()) heard.status = RequestStatus::incomplete;
  return heard;
}

/// Equal, where one NaN is as good as another.
inline bool same(const Reply& a, const Reply& b) {
  const bool both_nan = std::isnan(a.number) && std::isnan(b.number);
  if (a.type != b.type || a.integer != b.integer || a.text != b.text) return false;
  if (!both_nan && a.number != b.number) return false;
  if (a.elements.size() != b.elements.size()) return false;
  for (std::size_t i = 0; i != a.elements.size(); ++i) {
    if (!same(a.elements[i], b.elements[i])) return false;
  }
  return true;
}

/// All replies of a stream, and how it stands at its end.
struct ReplyTranscript {
  std::vector<Reply> replies;
  ReadStatus status = ReadStatus::incomplete;
  ReplyFault fault = ReplyFault::none;

  bool operator==(const ReplyTranscript& other) const {
    if (status != other.status || fault != other.fault) return false;
    if (replies.size() != other.replies.size()) return false;
    for (std::size_t i = 0; i != replies.size(); ++i) {
      if (!same(replies[i], other.replies[i])) return false;
    }
    return true;
  }
};

inline ReplyTranscript hear_replies(ReplyReader reader, const Pieces& pieces) {
  ReplyTranscript heard;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      Reply reply;
      const ReadReply read = reader.read(piece, reply);
      heard.status = read.status;
      heard.fault = read.fault;
      if (read.status == ReadStatus::malformed) return heard;
      if (read.status == ReadStatus::complete) heard.replies.push_back(std::move(reply));
      piece.remove_prefix(read.consumed);
    }
  }
  return heard;
}

inline Pieces byte_by_byte(std::string_view bytes) {
  Pieces pieces;
  for (std::size_t i = 0; i != bytes.size(); ++i) pieces.push_back(bytes.substr(i, 1));
  return pieces;
}

inline Pieces split_at(std::string_view bytes, std::size_t where) {
  return {bytes.substr(0, where), bytes.substr(where)};
}

/// Whether a ReplyWriter has a word for all of it.
inline bool can_be_written(const Reply& reply) {
  switch (reply.type) {
    case ReplyType::null:
    case ReplyType::simple:
    case ReplyType::error:
    case ReplyType::integer:
    case ReplyType::bulk:
    case ReplyType::boolean: return true;
    case ReplyType::array:
    case ReplyType::map:
      for (const Reply& element : reply.elements) {
        if (!can_be_written(element)) return false;
      }
      return true;
    default: return false;
  }
}

inline void write_reply(ReplyWriter& writer, const Reply& reply) {
  switch (reply.type) {
    case ReplyType::simple: return writer.simple(reply.text);
    case ReplyType::error: return writer.error(reply.text);
    case ReplyType::integer: return writer.integer(reply.integer);
    case ReplyType::bulk: return writer.bulk(reply.text);
    case ReplyType::boolean: return writer.boolean(reply.integer == 1);
    case ReplyType::array: writer.array(reply.elements.size()); break;
    case ReplyType::map: writer.map(reply.elements.size() / 2); break;
    default: return writer.null();
  }
  for (const Reply& element : reply.elements) write_reply(writer, element);
}

/// What is left of a reply once it has been spoken in a dialect.
inline Reply as_spoken(Reply reply, Protocol protocol) {
  if (protocol == Protocol::resp2) {
    if (reply.type == ReplyType::map) reply.type = ReplyType::array;
    if (reply.type == ReplyType::boolean) reply.type = ReplyType::integer;
  }
  if (reply.type == ReplyType::simple || reply.type == ReplyType::error) {
    for (char& byte : reply.text) {
      if ((byte >= 0 && byte < ' ') || byte == '\x7f') byte = ' ';
    }
  }
  for (Reply& element : reply.elements) element = as_spoken(std::move(element), protocol);
  return reply;
}

}  // namespace weir::wire
