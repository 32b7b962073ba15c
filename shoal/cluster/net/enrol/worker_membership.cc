#include "shoal/cluster/net/enrol/worker_membership.h"

#include "shoal/cluster/net/address.h"
#include "shoal/cluster/net/enrol/enrolment.h"
#include "shoal/cluster/net/tls/certificate.h"

namespace shoal::net {
namespace {

Status join_by_token(const WorkerJoin& join, const std::string& name) {
  SHOAL_ASSIGN(const Token token, parse_token(join.token));
  SHOAL_ASSIGN(const Interface where, parse_interface(join.listen));
  SHOAL_TRY(
      join_from(join.folder, token, name, after(join.timeout), {.port = where.port}).status());
  if (where.port == 0 && join.log) {
    join.log("not listed: its port is another at every start; 'shoal cluster add' lists it");
  }
  return {};
}

Status check_token(const Identity& known, const std::string& text) {
  SHOAL_ASSIGN(const Token token, parse_token(text));
  SHOAL_ASSIGN(const Fingerprint fingerprint, authority_fingerprint(known));
  if (fingerprint == token.fingerprint) return {};
  return invalid("this device is " + known.name + " of cluster " + known.cluster +
                 " already, and the token is of another; choose another folder");
}

// Makes sure that the folder has an identity that others accept.
Status join_if_needed(const WorkerJoin& join) {
  const auto known = load_identity(join.folder);
  if (!known.ok() && join.token.empty()) {
    if (known.status().code() != Code::kNotFound) return known.status();
    return invalid(
        "this device belongs to no cluster: get a token from 'shoal cluster invite' and pass it as "
        "join-file (looked in " +
        join.folder.string() + ")");
  }
  if (!known.ok()) return join_by_token(join, join.name);
  if (!join.token.empty()) SHOAL_TRY(check_token(*known, join.token));
  SHOAL_ASSIGN(const Validity validity, validity_of(*known));
  if (standing_of(validity, join.clock()) != Standing::kExpired) return {};
  if (!join.token.empty()) return join_by_token(join, known->name);
  return invalid("the certificate of " + known->name +
                 " has expired: get a token from 'shoal cluster invite' and pass it as join-file");
}

}  // namespace

Result<std::shared_ptr<Membership>> open_worker_membership(const WorkerJoin& join) {
  SHOAL_TRY(join_if_needed(join));
  SHOAL_ASSIGN(auto membership, Membership::open(join.folder));
  const Role role = membership->identity().role;
  if (role == Role::kWorker) return membership;
  return invalid("this device is a " + std::string(to_string(role)) +
                 " of its cluster, no worker; join from another folder");
}

}  // namespace shoal::net
