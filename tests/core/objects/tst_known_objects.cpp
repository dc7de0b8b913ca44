// SPDX-License-Identifier: Apache-2.0
// How few questions a store is asked, by a store in memory that counts them.
#include "core/objects/known_objects.h"

#include <doctest/doctest.h>

namespace shardscope {

using namespace objects;

namespace {

class CountingStore final : public ObjectStore
{
public:
    Result<ObjectFolder> list(const ObjectPath& folder) override
    {
        ++lists;
        ObjectFolder out;
        const std::string prefix = folder.key.empty() ? "" : folder.key + "/";
        for (const auto& [key, version] : objects) {
            if (!key.starts_with(prefix))
                continue;
            const std::string rest = key.substr(prefix.size());
            if (rest.find('/') == std::string::npos)
                out.files.emplace(rest, version);
            else if (out.folders.empty() || out.folders.back() != rest.substr(0, rest.find('/')))
                out.folders.push_back(rest.substr(0, rest.find('/')));
        }
        if (out.files.empty() && out.folders.empty())
            return fail(ErrorCode::NotFound, "nothing");
        return out;
    }
    std::vector<Result<FoundObject>> look(std::span<const ObjectPath> places) override
    {
        looks += places.size();
        std::vector<Result<FoundObject>> out;
        for (const ObjectPath& place : places) {
            const auto found = objects.find(place.key);
            const auto below = objects.lower_bound(place.key + "/");
            const bool isFolder = below != objects.end() && below->first.starts_with(place.key + "/");
            if (found != objects.end())
                out.emplace_back(FoundObject{place, found->second});
            else if (isFolder)
                out.emplace_back(FoundObject{place, std::nullopt});
            else
                out.emplace_back(fail(ErrorCode::NotFound, "nothing"));
        }
        return out;
    }
    std::vector<Status> read(std::span<const ObjectRange> ranges) override
    {
        for (const ObjectRange& range : ranges) {
            ++reads;
            bytes += range.out.size();
            for (size_t i = 0; i < range.out.size(); ++i)
                range.out[i] = static_cast<uint8_t>((range.offset + i) % 251);
        }
        return std::vector<Status>(ranges.size());
    }
    [[nodiscard]] StoreTraffic traffic() const override { return {}; }

    std::map<std::string, ObjectVersion> objects;
    size_t lists = 0;
    size_t looks = 0;
    size_t reads = 0;
    uint64_t bytes = 0;
};

struct Fixture {
    std::shared_ptr<CountingStore> store = std::make_shared<CountingStore>();
    KnownObjects known{store};

    Fixture()
    {
        for (int i = 0; i < 1000; ++i)
            store->objects["run/step1/" + std::to_string(i)] = {uint64_t(i), "\"a\"", 0};
        store->objects["run/latest"] = {5, "\"l\"", 0};
    }
    [[nodiscard]] static std::vector<ObjectPath> thousand()
    {
        std::vector<ObjectPath> out;
        for (int i = 0; i < 1000; ++i)
            out.push_back({"b", "run/step1/" + std::to_string(i)});
        return out;
    }
};

} // namespace

TEST_CASE("a thousand objects of a folder are found by one listing, and then by none")
{
    Fixture fixture;
    const auto places = Fixture::thousand();
    for (int times = 0; times < 2; ++times) {
        const auto found = fixture.known.find(places);
        REQUIRE(found.size() == 1000);
        for (size_t i = 0; i < found.size(); ++i) {
            REQUIRE(found[i]);
            REQUIRE(found[i]->version->bytes == i);
        }
    }
    CHECK(fixture.store->lists == 1);
    CHECK(fixture.store->looks == 0);
    const std::vector<ObjectPath> absent{{"b", "run/step1/x"}};
    const auto nothing = fixture.known.find(absent);
    CHECK(nothing[0].error().code == ErrorCode::NotFound);
    CHECK(nothing[0].error().path == "s3://b/run/step1/x");
    CHECK(fixture.store->looks == 0);
}

TEST_CASE("few objects are looked at one by one, and a folder is what keys begin with")
{
    Fixture fixture;
    const std::vector<ObjectPath> places{{"b", "run"}, {"b", "run/latest"}, {"b", "ru"}, {"b", "run/step1"}};
    const auto found = fixture.known.find(places);
    REQUIRE(found[0]);
    CHECK_FALSE(found[0]->version);
    REQUIRE(found[1]);
    CHECK(found[1]->version->bytes == 5);
    CHECK(found[2].error().code == ErrorCode::NotFound);
    CHECK_FALSE(found[3]->version);
    CHECK(fixture.store->lists == 0);
    CHECK(fixture.store->looks == 4);
}

TEST_CASE("whether objects are unchanged is asked again")
{
    Fixture fixture;
    const auto places = Fixture::thousand();
    std::vector<FoundObject> opened;
    for (auto& one : fixture.known.find(places))
        opened.push_back(*one);
    fixture.store->objects["run/step1/7"].tag = "\"b\"";
    fixture.store->objects.erase("run/step1/8");
    const auto now = fixture.known.checkUnchanged(opened);
    for (size_t i = 0; i < now.size(); ++i) {
        CAPTURE(i);
        CHECK(now[i].has_value() == (i != 7 && i != 8));
    }
    CHECK(now[7].error().code == ErrorCode::SourceChanged);
    CHECK(now[8].error().code == ErrorCode::SourceChanged);
    CHECK(fixture.store->lists == 2);
    CHECK_FALSE(fixture.known.checkUnchanged(std::span(opened).subspan(7, 1))[0]);
    CHECK(fixture.store->looks == 1);
}

TEST_CASE("what follows a short range is read with it, and read again without a question")
{
    Fixture fixture;
    const ObjectVersion version{100'000, "\"v\"", 0};
    const auto readAt = [&](uint64_t offset, size_t bytes, const char* key = "file") {
        std::vector<uint8_t> out(bytes);
        const ObjectRange range{{"b", key}, version, offset, out};
        CHECK(fixture.known.read(std::span(&range, 1))[0]);
        for (size_t i = 0; i < bytes; ++i)
            REQUIRE(out[i] == (offset + i) % 251);
    };
    readAt(0, 512);
    CHECK(fixture.store->bytes == 8192);
    readAt(0, 4000);
    readAt(8184, 8);
    CHECK(fixture.store->reads == 1);
    readAt(8184, 9);
    readAt(99'990, 10);
    CHECK(fixture.store->reads == 3);
    CHECK(fixture.store->bytes == 2 * 8192 + 10);
    readAt(0, 512, "other");
    CHECK(fixture.store->reads == 4);
    readAt(0, 99'000);
    readAt(50'000, 40'000);
    CHECK(fixture.store->reads == 5);
}

TEST_CASE("what was read of one version is none of another")
{
    Fixture fixture;
    const auto readOf = [&](const ObjectVersion& version) {
        std::vector<uint8_t> out(100);
        const ObjectRange range{{"b", "file"}, version, 0, out};
        CHECK(fixture.known.read(std::span(&range, 1))[0]);
    };
    const ObjectVersion version{100'000, "v", 7};
    for (int times = 0; times < 2; ++times)
        readOf(version);
    CHECK(fixture.store->reads == 1);
    readOf({100'000, "w", 7});
    readOf({100'001, "v", 7});
    readOf({100'000, "v", 8}); // not every listing has a tag
    CHECK(fixture.store->reads == 4);
}

} // namespace shardscope
