// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/kept_ranges.h"
#include "core/objects/object_store.h"

#include <chrono>
#include <mutex>

namespace shardscope::objects {

/// Finds objects in a store with few questions: by listings, which are known for half a minute. Thread-safe.
class KnownObjects
{
public:
    explicit KnownObjects(std::shared_ptr<ObjectStore> store)
        : m_store(std::move(store))
    {
    }

    [[nodiscard]] StoreTraffic traffic() const { return m_store->traffic(); }
    /// NotFound where there is neither an object nor anything below.
    std::vector<Result<FoundObject>> find(std::span<const ObjectPath> places);
    /// Asks again.
    Result<std::shared_ptr<const ObjectFolder>> list(const ObjectPath& folder);
    /// Whether these are still the versions; SourceChanged. Asks again.
    std::vector<Status> checkUnchanged(std::span<const FoundObject> objects);

    /// Reads more where little is asked for: what follows a header is often read next.
    std::vector<Status> read(std::span<const ObjectRange> ranges);

private:
    struct Listing {
        std::shared_ptr<const ObjectFolder> folder; ///< null: there is nothing
        std::chrono::steady_clock::time_point asked;
    };
    using Results = std::vector<std::optional<Result<FoundObject>>>;
    std::optional<Listing> known(const std::string& folder);
    void keep(const std::string& folder, std::shared_ptr<const ObjectFolder> listed);
    void findInListings(std::span<const ObjectPath> places, Results& out, bool mayAsk);
    void findEach(std::span<const ObjectPath> places, Results& out);

    std::shared_ptr<ObjectStore> m_store;
    io::KeptRanges m_kept;
    std::mutex m_mutex; ///< of m_listings
    std::map<std::string, Listing> m_listings; ///< by path of the folder
};

} // namespace shardscope::objects
