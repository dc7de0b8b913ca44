// SPDX-License-Identifier: Apache-2.0
#include "core/objects/known_objects.h"

#include <algorithm>

namespace shardscope::objects {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kKnown = std::chrono::seconds(30);
constexpr size_t kMostListings = 256;
constexpr size_t kMostKeptNames = 100'000; ///< of one listing
constexpr uint64_t kShort = uint64_t{8} << 10; ///< takes as long to read as one byte
constexpr size_t kFewRanges = 4096; ///< of one call; samples of a large tensor are more
constexpr size_t kWorthListing = 8; ///< objects of one folder, to ask for all of it at once

ObjectPath parentOf(const ObjectPath& place)
{
    const size_t slash = place.key.rfind('/');
    return {place.bucket, slash == std::string::npos ? std::string() : place.key.substr(0, slash)};
}

std::string nameOf(const ObjectPath& place)
{
    return place.key.substr(place.key.rfind('/') + 1); // npos + 1 is 0
}

/// A name of this version of the object.
std::string versionOf(const ObjectRange& range)
{
    return range.place.bucket + "/" + range.place.key + "\n" + range.version.tag + "\n"
        + std::to_string(range.version.bytes) + " " + std::to_string(range.version.modifiedNs);
}

std::string textOf(const ObjectPath& place)
{
    return objectPath(place.bucket, place.key).string();
}

Result<FoundObject> nothingAt(const ObjectPath& place)
{
    return fail(ErrorCode::NotFound, "there is nothing of this name", textOf(place));
}

Result<FoundObject> foundIn(const ObjectFolder& folder, const ObjectPath& place)
{
    const std::string name = nameOf(place);
    if (const auto file = folder.files.find(name); file != folder.files.end())
        return FoundObject{place, file->second};
    if (std::ranges::binary_search(folder.folders, name))
        return FoundObject{place, std::nullopt};
    return nothingAt(place);
}

/// Numbers of the places, by the path of their folder.
std::map<std::string, std::vector<size_t>> byFolder(
    std::span<const ObjectPath> places, const std::function<bool(size_t)>& isMeant)
{
    std::map<std::string, std::vector<size_t>> out;
    for (size_t i = 0; i < places.size(); ++i) {
        if (isMeant(i) && !places[i].key.empty())
            out[textOf(parentOf(places[i]))].push_back(i);
    }
    return out;
}

} // namespace

std::optional<KnownObjects::Listing> KnownObjects::known(const std::string& folder)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_listings.find(folder);
    if (found == m_listings.end() || Clock::now() - found->second.asked > kKnown)
        return std::nullopt;
    return found->second;
}

void KnownObjects::keep(const std::string& folder, std::shared_ptr<const ObjectFolder> listed)
{
    if (listed && listed->files.size() + listed->folders.size() > kMostKeptNames)
        return;
    const std::lock_guard lock(m_mutex);
    const auto now = Clock::now();
    std::erase_if(m_listings, [&](const auto& one) { return now - one.second.asked > kKnown; });
    if (m_listings.size() >= kMostListings)
        m_listings.erase(
            std::ranges::min_element(m_listings, {}, [](const auto& one) { return one.second.asked; }));
    m_listings.insert_or_assign(folder, Listing{std::move(listed), now});
}

Result<std::shared_ptr<const ObjectFolder>> KnownObjects::list(const ObjectPath& folder)
{
    auto listed = m_store->list(folder);
    if (!listed && listed.error().code == ErrorCode::NotFound)
        keep(textOf(folder), nullptr);
    if (!listed)
        return forward(std::move(listed).error());
    auto out = std::make_shared<const ObjectFolder>(std::move(*listed));
    keep(textOf(folder), out);
    return out;
}

void KnownObjects::findInListings(std::span<const ObjectPath> places, Results& out, bool mayAsk)
{
    const auto isMeant = [&](size_t i) { return !out[i].has_value(); };
    for (const auto& [folder, numbers] : byFolder(places, isMeant)) {
        auto listing = known(folder);
        if (!listing && mayAsk && numbers.size() >= kWorthListing) {
            const auto asked = list(parentOf(places[numbers.front()]));
            if (asked)
                listing = Listing{*asked, {}};
            else if (asked.error().code == ErrorCode::NotFound)
                listing = Listing{nullptr, {}};
        }
        for (const size_t number : listing ? numbers : std::vector<size_t>())
            out[number].emplace(
                listing->folder ? foundIn(*listing->folder, places[number]) : nothingAt(places[number]));
    }
}

void KnownObjects::findEach(std::span<const ObjectPath> places, Results& out)
{
    std::vector<size_t> left;
    std::vector<ObjectPath> asked;
    for (size_t i = 0; i < places.size(); ++i) {
        if (out[i])
            continue;
        left.push_back(i);
        asked.push_back(places[i]);
    }
    if (asked.empty())
        return;
    std::vector<Result<FoundObject>> looked = m_store->look(asked);
    for (size_t k = 0; k < left.size(); ++k)
        out[left[k]].emplace(std::move(looked[k]));
}

std::vector<Result<FoundObject>> KnownObjects::find(std::span<const ObjectPath> places)
{
    Results found(places.size());
    findInListings(places, found, true);
    findEach(places, found);
    std::vector<Result<FoundObject>> out;
    out.reserve(found.size());
    for (auto& one : found)
        out.push_back(std::move(*one));
    return out;
}

std::vector<Status> KnownObjects::checkUnchanged(std::span<const FoundObject> objects)
{
    std::vector<ObjectPath> places;
    places.reserve(objects.size());
    for (const FoundObject& object : objects)
        places.push_back(object.place);
    Results found(places.size());
    for (const auto& [folder, numbers] : byFolder(places, [](size_t) { return true; })) {
        if (numbers.size() < kWorthListing)
            continue;
        if (const auto listed = list(parentOf(places[numbers.front()]))) {
            for (const size_t number : numbers)
                found[number].emplace(foundIn(**listed, places[number]));
        }
    }
    findEach(places, found);
    std::vector<Status> out(objects.size());
    for (size_t i = 0; i < objects.size(); ++i) {
        const Result<FoundObject>& now = *found[i];
        if (!now && now.error().code != ErrorCode::NotFound)
            out[i] = forward(now.error());
        else if (!now || now->version != objects[i].version)
            out[i] = fail(ErrorCode::SourceChanged, "the object has changed since it was opened",
                textOf(places[i]), "run the command again");
    }
    return out;
}

std::vector<Status> KnownObjects::read(std::span<const ObjectRange> ranges)
{
    struct Asked {
        size_t number;
        std::vector<uint8_t> longer; ///< in place of a short range
    };
    std::vector<Status> out(ranges.size());
    std::vector<Asked> asked;
    for (size_t i = 0; i < ranges.size(); ++i) {
        const ObjectRange& range = ranges[i];
        if (m_kept.take(versionOf(range), range.offset, range.out))
            continue;
        const uint64_t left = range.version.bytes - range.offset;
        const bool isShort = range.out.size() < kShort && ranges.size() <= kFewRanges;
        asked.push_back({i, std::vector<uint8_t>(isShort ? std::min(kShort, left) : 0)});
    }
    std::vector<ObjectRange> questions;
    questions.reserve(asked.size());
    for (Asked& one : asked) {
        questions.push_back(ranges[one.number]);
        if (!one.longer.empty())
            questions.back().out = one.longer;
    }
    const std::vector<Status> got = questions.empty() ? std::vector<Status>() : m_store->read(questions);
    for (size_t k = 0; k < asked.size(); ++k) {
        const ObjectRange& range = ranges[asked[k].number];
        out[asked[k].number] = got[k];
        if (!got[k])
            continue;
        m_kept.keep(versionOf(range), range.offset, questions[k].out);
        if (!asked[k].longer.empty())
            std::copy_n(asked[k].longer.begin(), range.out.size(), range.out.begin());
    }
    return out;
}

} // namespace shardscope::objects
