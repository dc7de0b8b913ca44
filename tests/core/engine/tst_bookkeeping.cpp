// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/element_digests.h"
#include "core/engine/stream/interval_set.h"
#include "core/engine/stream/journal.h"
#include "core/engine/stream/memory_plan.h"
#include "core/engine/stream/source_crcs.h"
#include "core/io/crc32.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace shardscope;

namespace {

std::span<const uint8_t> bytesOf(const std::string& text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string randomText(std::mt19937_64& random, size_t bytes)
{
    std::string out(bytes, '\0');
    for (char& c : out)
        c = static_cast<char>(random());
    return out;
}

std::vector<PlanSource> sourceOf(const std::string& payload)
{
    PlanSource source;
    source.path = "some/source.pt";
    ZipRecord record;
    record.name = "data/0";
    record.bytes = payload.size();
    record.crc32 = io::crc32(0, bytesOf(payload));
    source.records = {record};
    return {source};
}

} // namespace

TEST_CASE("claims return every number once, like a set of numbers")
{
    std::mt19937_64 random(3);
    for (int round = 0; round < 300; ++round) {
        IntervalSet set;
        std::set<uint64_t> taken;
        for (int i = 0; i < 40; ++i) {
            const uint64_t begin = random() % 100;
            const uint64_t end = begin + random() % (round % 2 == 0 ? 4 : 30);
            std::set<uint64_t> claimed;
            set.claim(begin, end, [&](uint64_t from, uint64_t to) {
                CHECK(from < to);
                for (uint64_t n = from; n < to; ++n)
                    CHECK(claimed.insert(n).second);
            });
            std::set<uint64_t> expected;
            for (uint64_t n = begin; n < end; ++n) {
                if (taken.insert(n).second)
                    expected.insert(n);
            }
            CHECK(claimed == expected);
        }
    }
}

TEST_CASE("the CRC of a record is combined from overlapping pieces in any order, on several threads")
{
    std::mt19937_64 random(4);
    for (int round = 0; round < 100; ++round) {
        const std::string payload = randomText(random, 1 + random() % 5000);
        auto sources = sourceOf(payload);
        const bool damaged = round % 4 == 3;
        sources[0].records[0].crc32 ^= damaged ? 1 : 0;
        SourceCrcs crcs(sources);
        std::atomic<int> failures = 0;
        std::atomic<int> covered = 0;
        const auto take = [&](ByteRange range) {
            std::vector<ByteRange> claimed;
            crcs.claim(0, 0, range, claimed);
            for (const ByteRange& part : claimed) {
                covered += static_cast<int>(part.end - part.begin);
                const uint32_t crc
                    = io::crc32(0, bytesOf(payload).subspan(part.begin, part.end - part.begin));
                const Status status = crcs.complete(0, 0, part, crc);
                if (status)
                    continue;
                CHECK(status.error().code == ErrorCode::Damaged);
                CHECK(status.error().message.find("'data/0'") != std::string::npos);
                ++failures;
            }
        };
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < 3; ++t)
                threads.emplace_back([&, seed = random()] {
                    std::mt19937_64 mine(seed);
                    for (int i = 0; i < 20; ++i) {
                        const uint64_t begin = mine() % payload.size();
                        take({begin, begin + 1 + mine() % (payload.size() - begin)});
                    }
                });
        }
        for (const SourceCrcs::Gap& gap : crcs.gaps())
            take(gap.range);
        CHECK(crcs.gaps().empty());
        CHECK(covered == static_cast<int>(payload.size()));
        CHECK(failures == (damaged ? 1 : 0));
    }
}

TEST_CASE("a record that is not read, or that has no CRC, has no gaps")
{
    auto sources = sourceOf("payload");
    SourceCrcs untouched(sources);
    CHECK(untouched.gaps().empty());
    sources[0].records[0].crcPresent = false;
    SourceCrcs unchecked(sources);
    std::vector<ByteRange> claimed;
    unchecked.claim(0, 0, {1, 3}, claimed);
    CHECK(claimed.empty());
    CHECK(unchecked.gaps().empty());
}

TEST_CASE("digests count every element once, from any thread")
{
    std::mt19937_64 random(6);
    const std::string bytes = randomText(random, 4 * 5000);
    const std::vector<PlanTensor> tensors{
        {"a", "fp32", DType::Float32, 0, 5000}, {"b", "fp32", DType::Float32, 0, 1}};
    ElementDigests digests(tensors);
    const auto add = [&](uint32_t tensor, uint64_t first, std::span<const uint8_t> some) {
        SumBatch batch;
        digests.claim(tensor, first, 0, some, batch);
        plainBackend().transform({}, batch.sums);
        digests.add(batch);
    };
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, seed = random()] {
                std::mt19937_64 mine(seed);
                for (int i = 0; i < 200; ++i) {
                    const size_t begin = mine() % 5000;
                    const size_t count = 1 + mine() % (5000 - begin);
                    add(0, begin, bytesOf(bytes).subspan(begin * 4, count * 4));
                }
            });
    }
    add(0, 0, bytesOf(bytes));
    CHECK(digests.sums()[0] == digestElements(digestKey("a", "fp32"), 4, 0, bytesOf(bytes)));
    CHECK(digests.sums()[1] == Digest{});
}

TEST_CASE("a journal cut or changed at any byte never has a seal that was not entered")
{
    const JournalSeal seal{17, std::string(64, 'a'), true, "0123"};
    const std::string text = journalLine(seal);
    const auto isIt = [&](const JournalSeal& found) {
        return found.inode == seal.inode && found.manifestSha256 == seal.manifestSha256 && found.verified
            && found.fingerprint == seal.fingerprint;
    };
    REQUIRE(parseJournal("no line\n" + text).seal);
    CHECK(isIt(*parseJournal("no line\n" + text).seal));
    for (size_t cut = 0; cut < text.size(); ++cut)
        CHECK_FALSE(parseJournal(text.substr(0, cut)).seal);
    for (size_t at = 0; at < text.size(); ++at) {
        for (const int bit : {0, 3, 6}) {
            std::string changed = text;
            changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
            const Journal journal = parseJournal(changed);
            CHECK((!journal.seal || isIt(*journal.seal)));
        }
    }
}

TEST_CASE("memory is divided within its limit, and never to nothing")
{
    for (const uint64_t limit : {uint64_t{64} << 10, uint64_t{1} << 20, uint64_t{7'000'001},
             uint64_t{256} << 20, uint64_t{1} << 40}) {
        for (const unsigned jobs : {1u, 2u, 7u, 16u, 200u}) {
            for (const size_t files : {size_t{0}, size_t{1}, size_t{3}, size_t{4000}}) {
                for (const bool readsBack : {false, true}) {
                    const MemoryPlan plan = divideMemory(limit, jobs, files, readsBack);
                    CHECK(plan.totalBytes() <= limit);
                    CHECK(plan.workers >= 1);
                    CHECK(plan.workers <= jobs);
                    CHECK(plan.workers <= std::max<size_t>(files, 1));
                    CHECK(plan.chunkBytes >= 4096);
                    CHECK(plan.chunkBytes % 4096 == 0);
                    CHECK((plan.buffersPerWorker > 1) == (jobs > 1));
                    CHECK(plan.readBackBuffers == (readsBack ? 1 : 0));
                }
            }
        }
    }
    CHECK(divideMemory(uint64_t{256} << 20, 16, 100, true).workers == 16);
}
