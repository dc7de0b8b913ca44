// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/objects/object_store.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::objects {

/// Keys of an account. Never shown, logged or put into a message.
struct StoreKeys {
    std::string access;
    std::string secret;
    std::string session; ///< empty: none

    bool operator==(const StoreKeys&) const = default;
};

/// Where the object store is and who asks, as the AWS tools find it.
struct StoreSettings {
    std::string endpoint; ///< "https://host[:port][/path]"; empty: Amazon's, by region and bucket
    std::string region;
    bool bucketInHost = false; ///< `addressing_style = virtual`: the bucket is a part of the endpoint's name
    std::string certificates; ///< a file with those of the authorities to trust; empty: the system's
    std::optional<StoreKeys> keys; ///< none: requests are not signed
};

/// From the environment, then from the profile in `~/.aws/credentials` and `~/.aws/config` that AWS_PROFILE
/// names. Usage for a profile that is not there, for half a pair of keys and for an endpoint that is no URL;
/// Unsupported where the profile takes its keys from something that is not read here (a role, single sign-on,
/// a command), with its name.
Result<StoreSettings> storeSettings(io::FileSystem& files, const Environment& environment);

/// Sections of a file in the form of `~/.aws/config`. A nested value, `s3 =` with indented lines, has the key
/// "s3.addressing_style". What is no line of this form is left out, as the AWS tools do.
using IniSections = std::map<std::string, std::map<std::string, std::string>>;
IniSections parseIni(std::string_view text);

} // namespace shardscope::objects
