#include "shoal/cluster/net/enrol/renewal.h"

#include <chrono>
#include <utility>

#include "shoal/cluster/net/enrol/enrolment.h"

namespace shoal::net {
namespace {

constexpr std::chrono::hours kInterval{1};
constexpr std::chrono::seconds kTimeout{10};

}  // namespace

Result<bool> renew_if_due(const std::shared_ptr<Membership>& member, const std::string& address,
                          Deadline deadline) {
  SHOAL_ASSIGN(const Validity validity, member->validity());
  switch (standing_of(validity, member->now())) {
    case Standing::kGood:
      return false;
    case Standing::kExpired:
      return invalid("the certificate has expired; join again with a token");
    case Standing::kDue:
      break;
  }
  SHOAL_ASSIGN(std::string certificate, ask_for_renewal(member, address, deadline));
  SHOAL_TRY(member->renew(std::move(certificate)));
  return true;
}

RenewalThread::RenewalThread(std::shared_ptr<Membership> member, std::string address,
                             std::function<void(const std::string&)> told)
    : member_(std::move(member)),
      address_(std::move(address)),
      told_(std::move(told)),
      thread_([this] { run(); }) {}

RenewalThread::~RenewalThread() {
  over_.notify();
  thread_.join();
}

void RenewalThread::run() {
  do {
    const auto renewed = renew_if_due(member_, address_, after(kTimeout));
    if (!renewed.ok())
      told_("certificate not renewed: " + std::string(renewed.status().message()));
    else if (*renewed)
      told_("certificate renewed");
  } while (!over_.wait_until(after(kInterval)));
}

}  // namespace shoal::net
