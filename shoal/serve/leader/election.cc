#include "shoal/serve/leader/election.h"

#include <algorithm>

namespace shoal::serve {
namespace {

using std::chrono::nanoseconds;

// A placeholder record, treated like another server's: if there was no record, there may have been
// one, whose leader does not know of its end. Nor would it be safe to swap an absent record for a
// leader's: it has no revision, and may have existed since.
constexpr const char* kNobody = "nobody";

nanoseconds leading_time(nanoseconds ttl) { return ttl * 9 / 10; }
nanoseconds renewal_period(nanoseconds ttl) { return ttl / 4; }
nanoseconds reading_period(nanoseconds ttl) { return ttl / 12; }

}  // namespace

bool Election::may_swap(Moment now) const {
  if (!seen_ || seen_->revision == 0) return false;
  const bool is_free = seen_->holder.empty() || seen_->holder == options_.id;
  return is_free || now - seen_at_ >= options_.ttl;
}

std::optional<StoreRequest> Election::next(Moment now) {
  if (now < wake_) return std::nullopt;
  asked_ = now;
  if (resigned_) {
    const bool is_mine = seen_ && seen_->holder == options_.id;
    return is_mine ? std::optional(StoreRequest{"", seen_->revision}) : std::nullopt;
  }
  const bool is_missing = seen_ && seen_->revision == 0;
  asked_to_lead_ = may_swap(now);
  asked_to_swap_ = asked_to_lead_ || is_missing;
  if (!asked_to_swap_) return StoreRequest{};
  return StoreRequest{is_missing ? kNobody : options_.id, seen_->revision};
}

void Election::answered(const std::optional<StoreAnswer>& answer, Moment now) {
  wake_ = now + reading_period(options_.ttl);
  if (!answer || resigned_) return;
  if (!seen_ || *seen_ != answer->record) {
    seen_ = answer->record;
    seen_at_ = now;
  }
  if (asked_to_lead_ && answer->swapped) {
    leads_until_ = asked_ + leading_time(options_.ttl);
    wake_ = asked_ + renewal_period(options_.ttl);
    return;
  }
  if (seen_->holder == options_.id) {  // by a swap whose answer was lost
    wake_ = now;
    return;
  }
  leads_until_ = Moment::min();
  wake_ = std::min(wake_, seen_at_ + options_.ttl);
  // After a swap that failed, others had better luck: no hurry.
  const bool is_missing = seen_->revision == 0;
  if (!asked_to_swap_ && (may_swap(now) || is_missing)) wake_ = now;
}

void Election::resign() {
  resigned_ = true;
  leads_until_ = Moment::min();
  wake_ = Moment::min();
}

}  // namespace shoal::serve
