// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/objects/s3: the questions to an object store as S3 takes them: keys and endpoint, signatures,
// listings, and HTTP by libcurl. Only open_store.cpp includes it, so that a program can go without. Start
// with S3Store.

#include "core/objects/object_store.h"
#include "core/objects/s3/http_client.h"
#include "core/objects/s3/listing.h"
#include "core/objects/s3/store_settings.h"

#include <functional>
#include <mutex>

namespace shardscope::objects {

/// A store that is reached as Amazon S3 is. Buckets are named in the host of Amazon, and in the path of
/// other endpoints.
class S3Store final : public ObjectStore
{
public:
    /// `readAgain` gives the settings as they are by now: where the store refuses keys as expired or unknown,
    /// questions are signed once more with those of that time.
    S3Store(StoreSettings settings, std::unique_ptr<HttpClient> client,
        std::function<Result<StoreSettings>()> readAgain = {});

    Result<ObjectFolder> list(const ObjectPath& folder) override;
    std::vector<Result<FoundObject>> look(std::span<const ObjectPath> places) override;
    std::vector<Status> read(std::span<const ObjectRange> ranges) override;
    [[nodiscard]] StoreTraffic traffic() const override { return m_client->traffic(); }

private:
    [[nodiscard]] HttpRequest request(const ObjectPath& place, const std::string& query) const;
    [[nodiscard]] HttpRequest listing(const ObjectPath& folder, const std::string& token, size_t most) const;
    std::vector<HttpAnswer> ask(std::vector<HttpRequest>& requests);
    std::vector<HttpAnswer> askSigned(
        std::span<const HttpRequest> requests, const std::optional<StoreKeys>& keys);
    /// Those of now.
    std::optional<StoreKeys> keys();
    /// Reads them again, unless others than `refused` are known by now.
    std::optional<StoreKeys> keysInPlaceOf(const StoreKeys& refused);
    [[nodiscard]] Result<ListingPage> page(const ObjectPath& folder, const HttpAnswer& answer) const;
    Result<ObjectFolder> buckets();
    [[nodiscard]] Result<FoundObject> foundBy(
        const HttpAnswer& head, const HttpAnswer& listed, const ObjectPath& place) const;
    /// What an answer that is none says.
    [[nodiscard]] Error error(const HttpAnswer& answer, const ObjectPath& place) const;
    [[nodiscard]] Error refused(const std::string& code, const ObjectPath& place) const;

    StoreSettings m_settings; ///< without keys
    bool m_hasKeys = false;
    std::unique_ptr<HttpClient> m_client;
    std::function<Result<StoreSettings>()> m_readAgain;
    std::mutex m_mutex; ///< of m_keys
    std::optional<StoreKeys> m_keys;
};

} // namespace shardscope::objects
