// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/objects/object_store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::objects {

/// A question by HTTP. Redirects are not followed.
struct HttpRequest {
    bool isHead = false; ///< HEAD, else GET
    std::string url; ///< encoded
    std::vector<std::pair<std::string, std::string>> headers; ///< names in lower case; values without breaks
    /// Takes the body of an answer 200 or 206, which must be as long; empty: it is kept in HttpAnswer::body.
    std::span<uint8_t> out = {};
    uint64_t bodyLimit = 0; ///< in bytes, without `out`
};

struct HttpAnswer {
    int status = 0; ///< of HTTP; 0 where no answer came
    std::vector<std::pair<std::string, std::string>> headers; ///< names in lower case
    std::string body; ///< of errors, too, up to 64 KiB
    std::optional<Error> failed; ///< no answer, or one that breaks a limit; without a path

    [[nodiscard]] std::string header(std::string_view name) const;
};

/// Asks many questions at once. Thread-safe.
class HttpClient
{
public:
    virtual ~HttpClient() = default;
    /// One answer for each. Answers 429 and 5xx and broken connections are tried again, three times with
    /// growing pauses. A question ends as Unreadable after 30 s with less than 1 KiB a second, or when it
    /// takes 30 s more than the answer does at 16 KiB a second; as Cancelled by a stop of the settings or of
    /// the calling thread's job (current_stop.h).
    virtual std::vector<HttpAnswer> ask(std::span<const HttpRequest> requests) = 0;
    [[nodiscard]] virtual StoreTraffic traffic() const = 0;
};

struct HttpSettings {
    std::string certificates; ///< a file; empty: the system's
    std::stop_token stop; ///< ends every wait
};

/// By the system's libcurl, which is loaded on first use, as its twenty libraries would slow down every
/// start. Unsupported where it is absent, or this build cannot use it.
Result<std::unique_ptr<HttpClient>> makeHttpClient(HttpSettings settings);

} // namespace shardscope::objects
