#include "test/redis/redis_connection.hpp"

#include <stdexcept>
#include <string_view>

#include "wire/resp_request.hpp"

namespace weir::test {

wire::Reply RedisConnection::run(const Words& command) {
  std::string request;
  const std::vector<std::string_view> words(command.begin(), command.end());
  wire::write_request(request, words);
  connection_.send(request);
  wire::Reply reply;
  while (true) {
    const wire::ReadReply read = reader_.read(left_, reply);
    left_.erase(0, read.consumed);
    if (read.status == wire::ReadStatus::complete) return reply;
    const wire::Heard heard = connection_.hear();
    if (heard.bytes.empty()) throw std::runtime_error("no answer to " + command.front());
    left_ += heard.bytes;
  }
}

wire::Reply RedisConnection::must(const Words& command) {
  wire::Reply reply = run(command);
  if (reply.type == wire::ReplyType::error) {
    throw std::runtime_error(command.front() + ": " + reply.text);
  }
  return reply;
}

}  // namespace weir::test
