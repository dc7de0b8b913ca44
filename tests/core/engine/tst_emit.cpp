// SPDX-License-Identifier: Apache-2.0
// Output files that go to no disk. tst_parts_real.cpp compares their bytes.
#include "core/engine/parts/emit.h"
#include "core/engine/parts/piece_journal.h"
#include "tests/core/engine/execute_fixture.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <random>

using namespace shardscope;
using namespace shardscope::test;

namespace {

Result<Emitted> emit(const WritePlan& plan, uint32_t file, std::string* bytes = nullptr)
{
    JobContext job;
    return emitFile(
        io::realFileSystem(), plan, file,
        [&](std::span<const uint8_t> chunk) -> Status {
            if (bytes != nullptr)
                bytes->append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
            return {};
        },
        {}, job);
}

std::vector<Emitted> emitAll(const WritePlan& plan)
{
    std::vector<Emitted> out;
    for (uint32_t file = 0; file < plan.files.size(); ++file) {
        const auto emitted = emit(plan, file);
        REQUIRE_MESSAGE(emitted, describe(emitted.error()));
        out.push_back(*emitted);
    }
    return out;
}

Result<EmittedSum> combine(const WritePlan& plan, const std::vector<Emitted>& emitted)
{
    JobContext job;
    return combineEmitted(io::realFileSystem(), plan, emitted, {}, job);
}

PieceRecord recordOf(const Emitted& emitted)
{
    PieceJournal journal;
    parsePieceJournal(emitted.sums, journal);
    REQUIRE(journal.pieces.size() == 1);
    return journal.pieces.front();
}

/// Inverts a byte inside of the payload of a source record.
void damage(const PlanSource& source, uint32_t record, uint64_t at)
{
    std::fstream file(source.path, std::ios::in | std::ios::out | std::ios::binary);
    const auto place = static_cast<std::streamoff>(source.records[record].payloadOffset + at);
    file.seekg(place);
    const auto byte = static_cast<char>(~file.get());
    file.seekp(place);
    file.put(byte);
}

} // namespace

TEST_CASE("a damaged source is noticed by the process that reads a whole record, or by the sum")
{
    const Bench clean;
    const std::vector<Emitted> before = emitAll(clean.plan);
    std::array<int, 2> noticed{}; // by a process, by the sum
    for (uint32_t record = 0; record < clean.plan.sources[0].records.size(); ++record) {
        CAPTURE(record);
        Bench bench;
        const uint64_t bytes = bench.plan.sources[0].records[record].bytes;
        const bool isUsed = std::ranges::any_of(before, [&](const Emitted& emitted) {
            return std::ranges::any_of(recordOf(emitted).sources,
                [&](const SourcePart& part) { return part.source == 0 && part.record == record; });
        });
        if (bytes == 0 || !isUsed)
            continue;
        damage(bench.plan.sources[0], record, bytes / 2);
        bench.plan.readIdentitiesAgain();
        std::vector<Emitted> emitted;
        for (uint32_t file = 0; file < bench.plan.files.size(); ++file) {
            const auto each = emit(bench.plan, file);
            if (each)
                emitted.push_back(*each);
            else
                CHECK(each.error().code == ErrorCode::Damaged);
        }
        const bool byProcess = emitted.size() < bench.plan.files.size();
        ++noticed[byProcess ? 0 : 1];
        const auto sum = combine(bench.plan, emitted);
        if (byProcess) {
            CHECK((sum ? !sum->missing.empty() : sum.error().code == ErrorCode::Damaged));
        } else {
            REQUIRE(!sum);
            CHECK(sum.error().code == ErrorCode::Damaged);
        }
    }
    CHECK(noticed[1] > 0);
    MESSAGE(noticed[0], " by a process, ", noticed[1], " by the sum");
}

TEST_CASE("what was emitted of another plan, or is not what a process recorded, is refused")
{
    const Bench bench;
    const std::vector<Emitted> good = emitAll(bench.plan);
    const auto sum = combine(bench.plan, good);
    REQUIRE_MESSAGE(sum, describe(sum.error()));
    const auto refused = [&](const auto& change, ErrorCode code = ErrorCode::Refused) {
        std::vector<Emitted> bad = good;
        change(bad.back());
        const auto result = combine(bench.plan, bad);
        REQUIRE(!result);
        CHECK(result.error().code == code);
        CHECK(!result.error().hint.text.empty());
    };
    refused([](Emitted& emitted) { emitted.plan = "0"; });
    refused([](Emitted& emitted) { emitted.file = "other.pt"; }, ErrorCode::NotFound);
    refused([](Emitted& emitted) { emitted.sums.clear(); });
    refused([](Emitted& emitted) { emitted.sums.insert(10, "1"); });
    refused([](Emitted& emitted) { emitted.sums += emitted.sums; });
    refused([](Emitted& emitted) { ++emitted.bytes; });
    refused([&](Emitted& emitted) { emitted.sums = good.front().sums; });
    refused([&](Emitted& emitted) { emitted.digest = good.front().digest; });
    std::vector<Emitted> twice = good;
    twice.push_back(good.back());
    PieceRecord other = recordOf(good.back());
    other.digests.front().digest.low ^= 1;
    twice.back().sums = journalLine(other);
    std::vector<io::Xxh3Digest> chunks;
    for (const BytesDigest& chunk : other.digests)
        chunks.push_back(chunk.digest);
    twice.back().digest = io::combinedDigest(chunks);
    const auto differs = combine(bench.plan, twice);
    REQUIRE(!differs);
    CHECK(differs.error().code == ErrorCode::VerifyFailed);
    PieceRecord fewer = recordOf(good.front());
    std::vector<Emitted> lacks = good;
    REQUIRE(!fewer.elements.empty());
    fewer.elements.clear();
    lacks.front().sums = journalLine(fewer);
    const auto incomplete = combine(bench.plan, lacks);
    REQUIRE(!incomplete);
    CHECK(incomplete.error().code == ErrorCode::VerifyFailed);
}

TEST_CASE("sums with any numbers are errors or a sum, never more")
{
    const Bench bench;
    const std::vector<Emitted> good = emitAll(bench.plan);
    std::mt19937_64 random(46);
    const auto any = [&](uint64_t& value) {
        const uint64_t choices[] = {0, 1, value + 1, value - 1, value * 2, UINT64_MAX, UINT64_MAX - value,
            random() >> (random() % 64)};
        value = choices[random() % std::size(choices)];
    };
    for (int i = 0; i < 2000; ++i) {
        CAPTURE(i);
        std::vector<Emitted> bad = good;
        Emitted& changed = bad[random() % bad.size()];
        PieceRecord record = recordOf(changed);
        for (uint64_t times = random() % 3 + 1; times > 0; --times) {
            if (!record.elements.empty()) {
                ElementsSum& sum = record.elements[random() % record.elements.size()];
                uint64_t tensor = sum.tensor;
                uint64_t* const fields[] = {&tensor, &sum.first, &sum.count, &sum.offset, &sum.digest.low};
                any(*fields[random() % std::size(fields)]);
                sum.tensor = static_cast<uint32_t>(tensor);
            }
            if (!record.sources.empty()) {
                SourcePart& part = record.sources[random() % record.sources.size()];
                uint64_t source = part.source;
                uint64_t number = part.record;
                uint64_t* const fields[] = {&source, &number, &part.range.begin, &part.range.end};
                any(*fields[random() % std::size(fields)]);
                part.source = static_cast<uint32_t>(source);
                part.record = static_cast<uint32_t>(number);
            }
        }
        changed.sums = journalLine(record);
        const auto sum = combine(bench.plan, bad);
        if (!sum)
            CHECK((sum.error().code == ErrorCode::Refused || sum.error().code == ErrorCode::VerifyFailed
                || sum.error().code == ErrorCode::Damaged));
    }
}

TEST_CASE("a consumer's error, a stop and a changed source end an emission")
{
    const Bench bench;
    JobContext job;
    const auto failed = emitFile(
        io::realFileSystem(), bench.plan, 0,
        [](std::span<const uint8_t>) -> Status { return fail(ErrorCode::WriteFailed, "the pipe is closed"); },
        {}, job);
    REQUIRE(!failed);
    CHECK(failed.error().code == ErrorCode::WriteFailed);
    std::stop_source stop;
    stop.request_stop();
    JobContext stopped(stop.get_token());
    const auto cancelled = emitFile(
        io::realFileSystem(), bench.plan, 0, [](std::span<const uint8_t>) -> Status { return {}; }, {},
        stopped);
    REQUIRE(!cancelled);
    CHECK(cancelled.error().code == ErrorCode::Cancelled);
    std::ofstream(bench.plan.sources.front().path, std::ios::app) << "x";
    const auto changed = emit(bench.plan, 0);
    REQUIRE(!changed);
    CHECK(changed.error().code == ErrorCode::SourceChanged);
}
