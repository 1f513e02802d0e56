// Rules about messages: every result that another worker needs is sent once and
// received once, by the right worker, and its receive is posted in time.
#include "chimera/schedule/cell.h"
#include "chimera/schedule/validate_rules.h"

namespace chimera::validating {

void Rules::check_messages() {
  const int parts = schedule_.parts;
  for (int stage = 0; stage + 1 < schedule_.stages(); ++stage) {
    for (int micro = 0; micro < schedule_.micros; ++micro) {
      const size_t below = index_.cell(stage, micro);
      const size_t above = index_.cell(stage + 1, micro);
      check_message({forward_[below], forward_[above], send_forward_[below],
                     post_forward_[above]},
                    Op::kSF, Op::kRF);
      for (int part = 0; part < parts; ++part) {
        check_message(
            {gradient_[above * parts + part], gradient_[below * parts + part],
             send_gradient_[above * parts + part],
             post_gradient_[below * parts + part]},
            Op::kSB, Op::kRB);
      }
    }
  }
  check_stray_messages();
  for (const int recompute : recompute_) check_late_recompute(recompute);
}

// R with a peer waits for the gradient of its first backward from there.
void Rules::check_late_recompute(int node) {
  if (node == kNone || bad_[node] || at(node).peer == kNone) return;
  const Action& action = at(node);
  const bool is_last = action.stage + 1 == schedule_.stages();
  const int sender =
      is_last ? kNone
              : schedule_.placement.worker(action.pipe, action.stage + 1);
  if (sender != action.peer || sender == where(node).worker) {
    report("E309", node,
           "waits for a gradient from the wrong worker" +
               (is_last ? ": the last stage gets none"
                        : "; stage " + std::to_string(action.stage + 1) +
                              " is on worker " + std::to_string(sender)));
    return;
  }
  const size_t first = index_.cell(action.stage, action.micro);
  const size_t above = index_.cell(action.stage + 1, action.micro);
  needs(post_gradient_[first * schedule_.parts], node,
        "the post of its receive");
  needs(send_gradient_[above * schedule_.parts], node,
        "the gradient it waits for");
}

void Rules::check_message(const Message& message, Op send_op, Op post_op) {
  const auto [maker, consumer, send, post] = message;
  if (maker == kNone || consumer == kNone) return;
  if (on_one_worker(maker, consumer)) {
    for (const int node : {send, post}) {
      if (node != kNone) {
        report("E308", node, "both ends are on one worker: no message needed");
      }
    }
    return;
  }
  const int sender = where(maker).worker;
  const int receiver = where(consumer).worker;
  const auto missing = [&](int worker, const Action& like, Op op, int peer) {
    Action action = like;
    action.op = op;
    action.peer = peer;
    report_missing("E307", worker, action, to_cell(action) + " is missing");
  };
  if (send == kNone) missing(sender, at(maker), send_op, receiver);
  if (post == kNone) missing(receiver, at(consumer), post_op, sender);
  if (send == kNone || post == kNone) return;
  if (at(send).peer != receiver) {
    report("E309", send,
           "is sent to the wrong worker; stage " +
               std::to_string(at(consumer).stage) + " is on worker " +
               std::to_string(receiver));
  }
  if (at(post).peer != sender) {
    report("E309", post,
           "expects the wrong worker; stage " +
               std::to_string(at(maker).stage) + " is on worker " +
               std::to_string(sender));
  }
  if (at(send).step != at(maker).step || at(post).step != at(send).step) {
    report("E306", at(send).step != at(maker).step ? send : post,
           "a message is sent and posted in the round of the compute that "
           "makes it, " +
               name(maker));
    return;
  }
  check_same_side(send, post);
  needs(maker, send, "the compute whose result it sends");
  needs(post, consumer, "the post of its receive");
  // A send may block until its receive is posted.
  needs(post, send, "the post of its receive");
  needs(send, consumer, "the message it needs");
}

// Reports messages beyond the ends of the pipe, which no stage waits for.
void Rules::check_stray_messages() {
  const int last = schedule_.stages() - 1;
  for (int micro = 0; micro < schedule_.micros; ++micro) {
    const auto stray = [&](int node) {
      if (node != kNone) report("E308", node, "no stage is at the other end");
    };
    stray(send_forward_[index_.cell(last, micro)]);
    stray(post_forward_[index_.cell(0, micro)]);
    for (int part = 0; part < schedule_.parts; ++part) {
      stray(send_gradient_[index_.cell(0, micro) * schedule_.parts + part]);
      stray(post_gradient_[index_.cell(last, micro) * schedule_.parts + part]);
    }
  }
}

}  // namespace chimera::validating
