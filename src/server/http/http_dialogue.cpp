#include "server/http/http_dialogue.hpp"

#include <utility>

namespace weir::server {

HttpDialogue::HttpDialogue(HttpFront& front, std::shared_ptr<Carrier> carrier)
    : front_(front),
      outbox_(std::make_shared<HttpOutbox>(
          HttpOutbox{.carrier = std::move(carrier), .date = front.date})),
      reader_(front.limits) {}

HttpDialogue::~HttpDialogue() { outbox_->gone = true; }

bool HttpDialogue::has_room() const {
  const Replies& replies = outbox_->replies;
  return replies.held_up() < front_.limits.pipeline && replies.bytes() < front_.limits.output_bytes;
}

void HttpDialogue::receive(std::string_view bytes) {
  if (ending_) return;
  front_.date.now(front_.read_clock());
  if (input_.empty()) {
    input_.append(bytes.substr(take_requests(bytes)));
  } else {
    input_ += bytes;
    input_.erase(0, take_requests(input_));
  }
}

/// Answers the requests that are whole, as far as there is room; returns how much of the input that
/// took.
std::size_t HttpDialogue::take_requests(std::string_view input) {
  std::size_t consumed = 0;
  stalled_input_ = false;
  while (!ending_) {
    if (!has_room()) {
      stalled_input_ = true;
      break;
    }
    const auto [step, bytes] = reader_.read(input.substr(consumed));
    consumed += bytes;
    if (step == RequestReader::Step::incomplete) break;
    switch (step) {
      case RequestReader::Step::wants_continue:
        if (consumed == input.size()) outbox_->replies.tail() += "HTTP/1.1 100 Continue\r\n\r\n";
        break;
      case RequestReader::Step::complete:
        answer(reader_.request(), consumed == input.size());
        break;
      case RequestReader::Step::refused: refuse(reader_.fault()); break;
      case RequestReader::Step::incomplete: break;
    }
  }
  if (draining_ && !stalled_input_) ending_ = true;
  return ending_ ? input.size() : consumed;
}

void HttpDialogue::answer(HttpRequest& request, bool last) {
  ++requests_;
  request.peer = outbox_->carrier->peer();
  HttpFraming framing;
  framing.head_only = request.method == "HEAD";
  framing.close = !request.keep_alive || (draining_ && last);
  framing.keep_alive = request.http_1_0;
  if (requests_ >= front_.limits.requests && !framing.close) {
    framing.close = true;
    front_.metrics.hit(LimitHit::http_requests);
  }
  HttpReply reply(outbox_, framing);
  front_.router.route(request, reply);
  if (!reply.done()) reply.send(problem(500, "the server has no answer to this request"));
  if (reply.last()) ending_ = true;
  front_.metrics.asked_by(Speaks::http).add(1);
}

/// The connection ends with this answer.
void HttpDialogue::refuse(const HttpFault& fault) {
  ending_ = true;
  HttpReply(outbox_, {.close = true}).send(problem(fault.status, fault.detail));
  const bool head = fault.status == 431 || fault.status == 414;
  const bool body = fault.status == 413;
  front_.metrics.gave_up(head || body ? WireFault::too_large : WireFault::malformed, Speaks::http);
  if (head) front_.metrics.hit(LimitHit::http_head_bytes);
  if (body) front_.metrics.hit(LimitHit::http_body_bytes);
  front_.log.write(LogKind::malformed_request, {{"client", outbox_->carrier->peer()},
                                                {"name", std::string_view{"http"}},
                                                {"reason", fault.detail}});
}

void HttpDialogue::write(std::string& output, std::size_t enough) {
  if (stalled_input_ && has_room()) {
    front_.date.now(front_.read_clock());
    input_.erase(0, take_requests(input_));
  }
  std::string& ready = outbox_->replies.ready();
  if (output.empty() && ready.size() <= enough) {
    output.swap(ready);
    return;
  }
  output.append(ready, 0, enough);
  ready.erase(0, enough);
}

bool HttpDialogue::wants_input() const { return !ending_ && !stalled_input_ && has_room(); }

bool HttpDialogue::ended() const {
  Replies& replies = outbox_->replies;
  return lost_ || (ending_ && replies.held_up() == 0 && replies.ready().empty());
}

HttpDialogue::Phase HttpDialogue::phase() const {
  if (outbox_->replies.held_up() > 0 || !outbox_->replies.ready().empty()) return Phase::answers;
  if (reader_.in_body()) return Phase::body;
  return reader_.in_request() ? Phase::head : Phase::idle;
}

void HttpDialogue::tick() {
  const Phase now = phase();
  if (now != last_phase_ || requests_ != last_requests_ || std::exchange(outbox_->came, false)) {
    waited_ = std::chrono::seconds{0};
  }
  last_phase_ = now;
  last_requests_ = requests_;
  waited_ += std::chrono::seconds{1};
  const auto late = [&](std::chrono::seconds patience, LimitHit hit, const char* what) {
    if (waited_ <= patience || ending_) return;
    front_.metrics.hit(hit);
    front_.metrics.gave_up(WireFault::stalled, Speaks::http);
    ending_ = true;
    HttpReply(outbox_, {.close = true}).send(problem(408, what));
  };
  switch (now) {
    case Phase::idle:
      if (waited_ > front_.limits.idle_time) ending_ = true;
      return;
    case Phase::head:
      return late(front_.limits.head_time, LimitHit::http_head_timeout,
                  "expected the rest of the head sooner");
    case Phase::body:
      return late(front_.limits.body_time, LimitHit::http_body_timeout,
                  "expected the rest of the body sooner");
    case Phase::answers:
      // Those that wait to be taken are the carrier's affair.
      lost_ = waited_ > front_.limits.lost_answer && outbox_->replies.held_up() > 0;
      return;
  }
}

void HttpDialogue::drain() {
  draining_ = true;
  if (!stalled_input_) ending_ = true;
}

}  // namespace weir::server
