// The commands about the members of a cluster: the list, renewals and removals.
#pragma once

#include <string>

#include "../cli.h"

namespace shoal::cli {

// A line on stderr.
void say(const std::string& line);

// shoal cluster status
Outcome show_members(const std::string& folder, bool json);

// shoal cluster renew: the certificates of all workers, or of one. Without the authority, that of
// this machine.
Outcome renew_members(const std::string& folder, const std::string& name);

// shoal cluster remove: revokes, and tells all workers.
Outcome remove_member(const std::string& folder, const std::string& name);

// shoal cluster serve: renews the certificates of members that ask, until it is stopped.
Outcome serve_renewals(const std::string& folder, const std::string& listen);

// shoal cluster join: becomes a coordinator or a client by a token.
Outcome join_cluster(const std::string& folder, const std::string& name, const std::string& token);

}  // namespace shoal::cli
