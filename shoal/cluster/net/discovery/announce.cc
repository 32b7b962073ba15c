// Announces a worker through the Avahi daemon, again after the daemon was restarted, and under
// another title after a collision.
#include "shoal/cluster/net/discovery/discovery.h"

#ifdef SHOAL_AVAHI
#include <avahi-client/publish.h>
#include <avahi-common/alternative.h>
#include <avahi-common/malloc.h>
#include <avahi-common/thread-watch.h>

#include "shoal/cluster/net/discovery/avahi.h"

namespace shoal::net {
namespace {

using GroupPtr = std::unique_ptr<AvahiEntryGroup, AvahiFree<&avahi_entry_group_free>>;
using PollPtr = std::unique_ptr<AvahiThreadedPoll, AvahiFree<&avahi_threaded_poll_free>>;

// All callbacks come on the poll's thread, once it is started.
class AvahiAnnouncement final : public Announcement {
 public:
  AvahiAnnouncement(std::string name, uint16_t port) : name_(name), title_(name), port_(port) {}

  ~AvahiAnnouncement() override {
    if (poll_ != nullptr) avahi_threaded_poll_stop(poll_.get());
  }

  Status start() {
    poll_.reset(avahi_threaded_poll_new());
    if (poll_ == nullptr) return avahi_status(AVAHI_ERR_NO_MEMORY);
    SHOAL_TRY(connect({}));
    if (avahi_threaded_poll_start(poll_.get()) < 0) return avahi_status(AVAHI_ERR_FAILURE);
    return {};
  }

 private:
  Status connect(AvahiClientFlags flags) {
    int error = 0;
    client_.reset(avahi_client_new(avahi_threaded_poll_get(poll_.get()), flags,
                                   &AvahiAnnouncement::client_changed, this, &error));
    return client_ == nullptr ? avahi_status(error) : Status();
  }

  // The daemon has gone, and perhaps comes back: then we are told, and publish again.
  void await_daemon() {
    group_.reset();
    client_.reset();
    static_cast<void>(connect(AVAHI_CLIENT_NO_FAIL));  // if it fails, the list still works
  }

  static void client_changed(AvahiClient* client, AvahiClientState state, void* self) {
    auto& announcement = *static_cast<AvahiAnnouncement*>(self);
    if (state == AVAHI_CLIENT_S_RUNNING) {
      announcement.publish(client);
    } else if (state == AVAHI_CLIENT_FAILURE) {
      announcement.await_daemon();
    } else if (announcement.group_ != nullptr) {
      // The host gets another name, and says so again under that.
      avahi_entry_group_reset(announcement.group_.get());
    }
  }

  static void group_changed(AvahiEntryGroup* group, AvahiEntryGroupState state, void* self) {
    if (state != AVAHI_ENTRY_GROUP_COLLISION) return;
    auto& announcement = *static_cast<AvahiAnnouncement*>(self);
    announcement.take_another_title();
    announcement.publish(avahi_entry_group_get_client(group));
  }

  // Workers of two clusters may have the same name. The title must differ; the text has the name.
  void take_another_title() {
    char* other = avahi_alternative_service_name(title_.c_str());
    title_ = other;
    avahi_free(other);
  }

  // A failure is ignored: discovery does not find the worker, but the list of workers still works.
  void publish(AvahiClient* client) {
    if (group_ == nullptr) {
      group_.reset(avahi_entry_group_new(client, &AvahiAnnouncement::group_changed, this));
    }
    if (group_ == nullptr) return;
    avahi_entry_group_reset(group_.get());
    int error = AVAHI_ERR_COLLISION;
    while (error == AVAHI_ERR_COLLISION) {
      error = avahi_entry_group_add_service(
          group_.get(), AVAHI_IF_UNSPEC, AVAHI_PROTO_INET, AvahiPublishFlags{}, title_.c_str(),
          kServiceType, nullptr, nullptr, port_, ("name=" + name_).c_str(), nullptr);
      if (error == AVAHI_ERR_COLLISION) take_another_title();
    }
    if (error == AVAHI_OK) avahi_entry_group_commit(group_.get());
  }

  const std::string name_;
  std::string title_;
  const uint16_t port_;
  // In this order, because members are destroyed from the last to the first.
  PollPtr poll_;
  AvahiClientPtr client_;
  GroupPtr group_;
};

}  // namespace

Result<std::unique_ptr<Announcement>> announce(const std::string& name, uint16_t port) {
  auto announcement = std::make_unique<AvahiAnnouncement>(name, port);
  SHOAL_TRY(announcement->start());
  return std::unique_ptr<Announcement>(std::move(announcement));
}

}  // namespace shoal::net

#else
#include "shoal/cluster/net/discovery/not_built.h"

namespace shoal::net {

Result<std::unique_ptr<Announcement>> announce(const std::string&, uint16_t) {
  return discovery_not_built();
}

}  // namespace shoal::net
#endif
