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

// Asks the authority at `address` if a renewal is due, and shows the new certificate from then on.
// Returns whether it did. kInvalidArgument if the certificate has expired: a token is needed then.
Result<bool> renew_if_due(const std::shared_ptr<Membership>& member, const std::string& address,
                          Deadline deadline);

// Asks once an hour, if a renewal is due, until it is destroyed. The authority need not be online
// all the time: a month is left when the first request is sent.
class RenewalThread {
 public:
  // `told` gets one line for each request, on the thread.
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
