// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/objects/s3/http_client.h"
#include "core/objects/s3/store_settings.h"

#include <chrono>

namespace shardscope::objects {

/// Adds the headers of AWS Signature Version 4 to a question without a body; all of its headers are signed.
/// `host` as the Host header has it. Path and query of the URL must be encoded (uriEncoded()), the query
/// sorted.
///
/// Own code, because libcurl's (CURLOPT_AWS_SIGV4) lacks x-amz-content-sha256 in 7.88, without which S3
/// answers nothing, and changed what it signs from release to release.
void sign(HttpRequest& request, const std::string& host, const std::string& region, const StoreKeys& keys,
    std::chrono::system_clock::time_point now);

/// `%HH` for all but letters, digits, '-', '.', '_', '~', and '/' if `keepSlash`.
std::string uriEncoded(std::string_view text, bool keepSlash);

} // namespace shardscope::objects
