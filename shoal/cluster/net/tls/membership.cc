// Files before memory, always: after a crash a peer must neither trust a refused peer again, nor
// lose a certificate whose predecessor has expired.
#include "shoal/cluster/net/tls/membership.h"

#include <system_error>
#include <utility>

#include "shoal/cluster/net/folder_lock.h"
#include "shoal/cluster/net/text_file.h"
#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::net {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDenyListFile = "denied";
constexpr size_t kRefusalsKept = 16;
constexpr std::chrono::minutes kRetryInterval{1};

// Whether a file was replaced since it was last read.
bool is_new(const fs::path& file, fs::file_time_type& read) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  if (error || written == read) return false;
  read = written;
  return true;
}

}  // namespace

Status keep_newer(const fs::path& file, const DenyList& list, const std::string& cluster,
                  X509& authority) {
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(file.parent_path()));
  const auto text = read_text(file);
  const auto there = text.ok() ? DenyList::parse(*text, cluster, authority) : text.status();
  if (there.ok() && there->counter() >= list.counter()) return {};
  return write_text(file, list.text());
}

Result<std::shared_ptr<Membership>> Membership::make(Identity identity, MembershipOptions options) {
  SHOAL_ASSIGN(CertificatePtr authority, certificate_from_pem(identity.authority));
  SHOAL_ASSIGN(ContextPtr context, make_tls_context(identity));
  std::shared_ptr<Membership> made(new Membership(std::move(identity), std::move(options),
                                                  std::move(authority),
                                                  std::shared_ptr<SSL_CTX>(std::move(context))));
  made->refresh();
  return made;
}

Result<std::shared_ptr<Membership>> Membership::open(const fs::path& folder,
                                                     std::function<Time()> clock) {
  SHOAL_ASSIGN(Identity identity, load_identity(folder));
  return make(std::move(identity),
              {.clock = std::move(clock), .folder = folder, .deny_list = folder / kDenyListFile});
}

Identity Membership::identity() const {
  const std::lock_guard lock(mutex_);
  return identity_;
}

std::shared_ptr<SSL_CTX> Membership::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

std::shared_ptr<const DenyList> Membership::denied() const {
  const std::lock_guard lock(mutex_);
  return denied_;
}

Result<Validity> Membership::validity() const { return validity_of(identity()); }

Status Membership::renew(std::string certificate) {
  const std::lock_guard alone(changing_);
  return show(std::move(certificate));
}

// REQUIRES: changing_ is held.
Status Membership::show(std::string certificate) {
  const Identity old = identity();
  SHOAL_ASSIGN(Identity renewed, make_identity(std::move(certificate), old.key, old.authority));
  if (renewed.name != old.name || renewed.cluster != old.cluster || renewed.role != old.role)
    return invalid("the certificate is not for this peer");
  SHOAL_ASSIGN(const Validity offered, validity_of(renewed));
  SHOAL_ASSIGN(const Validity known, validity_of(old));
  if (offered.to <= known.to) return {};
  SHOAL_ASSIGN(ContextPtr context, make_tls_context(renewed));
  if (!options_.folder.empty()) SHOAL_TRY(save_certificate(renewed, options_.folder));
  const std::lock_guard lock(mutex_);
  identity_ = std::move(renewed);
  context_ = std::move(context);
  return {};
}

Result<DenyList> Membership::parse(std::string_view deny_list) const {
  return DenyList::parse(deny_list, identity().cluster, *authority_);
}

Status Membership::take(std::string_view deny_list) {
  SHOAL_ASSIGN(DenyList list, parse(deny_list));
  {
    const std::lock_guard alone(changing_);
    if (list.counter() <= denied()->counter()) return {};
    if (!options_.deny_list.empty())
      SHOAL_TRY(keep_newer(options_.deny_list, list, identity().cluster, *authority_));
  }
  follow(std::move(list));
  return {};
}

void Membership::follow(DenyList list) {
  std::vector<std::shared_ptr<const Watcher>> watchers;
  {
    const std::lock_guard lock(mutex_);
    if (list.counter() <= denied_->counter()) return;
    denied_ = std::make_shared<DenyList>(std::move(list));
    std::erase_if(watchers_, [](const auto& watcher) { return watcher.expired(); });
    for (const auto& watcher : watchers_) {
      if (auto alive = watcher.lock()) watchers.push_back(std::move(alive));
    }
  }
  // Without the lock: they ask which peers are denied.
  for (const auto& watcher : watchers) (*watcher)();
}

Status Membership::check(const CertificateId& id) const {
  if (!denied()->denies(id)) return {};
  return invalid("was removed from the cluster");
}

void Membership::refresh() {
  if (!options_.deny_list.empty()) refresh_deny_list();
  if (!options_.folder.empty()) refresh_certificate();
  if (options_.renewed) renew_if_due();
}

void Membership::renew_if_due() {
  const auto known = validity();
  if (!known.ok() || standing_of(*known, now()) == Standing::kGood) return;
  {
    const std::lock_guard alone(changing_);
    if (std::chrono::steady_clock::now() < next_try_) return;
    next_try_ = std::chrono::steady_clock::now() + kRetryInterval;
  }
  if (auto certificate = options_.renewed(now()); certificate.ok())
    static_cast<void>(renew(*std::move(certificate)));
}

void Membership::refresh_certificate() {
  const std::lock_guard alone(changing_);
  if (!is_new(certificate_file(options_.folder), certificate_read_)) return;
  // A file that is damaged or of another member is ignored: the previous certificate is shown.
  if (auto text = read_text(certificate_file(options_.folder)); text.ok())
    static_cast<void>(show(*std::move(text)));
}

void Membership::refresh_deny_list() {
  Result<DenyList> list = DenyList();
  {
    const std::lock_guard alone(changing_);
    if (!is_new(options_.deny_list, deny_list_read_)) return;
    const auto text = read_text(options_.deny_list);
    list = text.ok() ? parse(*text) : text.status();
  }
  if (list.ok()) follow(*std::move(list));
}

void Membership::watch(const std::shared_ptr<const Watcher>& watcher) {
  const std::lock_guard lock(mutex_);
  watchers_.push_back(watcher);
}

void Membership::add_refusal(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (refusals_.size() == kRefusalsKept) refusals_.pop_front();
  refusals_.push_back({options_.clock(), std::string(why.message())});
}

std::vector<Refusal> Membership::refusals() const {
  const std::lock_guard lock(mutex_);
  return {refusals_.begin(), refusals_.end()};
}

}  // namespace shoal::net
