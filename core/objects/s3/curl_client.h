// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/objects/s3/curl_library.h"
#include "core/objects/s3/http_client.h"

#include <atomic>
#include <mutex>

namespace shardscope::objects {

/// HttpClient by libcurl. Every call drives its questions on the calling thread, with connections that later
/// calls use again; all calls together have about kConnections of them.
class CurlClient final : public HttpClient
{
public:
    static constexpr size_t kConnections = 32;

    CurlClient(const CurlLibrary& curl, HttpSettings settings);
    ~CurlClient() override;
    CurlClient(const CurlClient&) = delete;
    CurlClient& operator=(const CurlClient&) = delete;

    std::vector<HttpAnswer> ask(std::span<const HttpRequest> requests) override;
    [[nodiscard]] StoreTraffic traffic() const override;

private:
    class Batch;
    struct Connections; ///< of one call
    std::unique_ptr<Connections> borrow();
    void giveBack(std::unique_ptr<Connections> connections);

    const CurlLibrary& m_curl;
    HttpSettings m_settings;
    std::mutex m_mutex; ///< of m_idle
    std::vector<std::unique_ptr<Connections>> m_idle;
    std::atomic<size_t> m_calls = 0; ///< under way
    std::atomic<uint64_t> m_requests = 0;
    std::atomic<uint64_t> m_bytes = 0;
};

} // namespace shardscope::objects
