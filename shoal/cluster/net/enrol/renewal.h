// Renewal: a member that asks for another certificate by itself before its own ends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "shoal/base/threads/notification.h"
#include "shoal/cluster/net/frame.h"
#include "shoal/cluster/net/tls/membership.h"

namespace shoal::net {

// Asks the authority at `address` if it is time to, and shows the new certificate from then on.
// Returns whether it did. kInvalidArgument if the certificate has expired: only a token helps then.
Result<bool> renew_if_due(const std::shared_ptr<Membership>& member, const std::string& address,
                          Deadline deadline);

// Asks once an hour, if it is time to, until it is destroyed. Whoever holds the authority need not
// serve all the time: a month is left when the first question is asked.
class RenewalThread {
 public:
  // `told` gets one line for each question that was asked, on the thread.
  RenewalThread(std::shared_ptr<Membership> member, std::string address,
                std::function<void(const std::string&)> told);
  ~RenewalThread();
  RenewalThread(const RenewalThread&) = delete;
  RenewalThread& operator=(const RenewalThread&) = delete;

 private:
  void run();

  const std::shared_ptr<Membership> member_;
  const std::string address_;
  const std::function<void(const std::string&)> told_;
  Notification over_;
  std::thread thread_;
};

}  // namespace shoal::net
