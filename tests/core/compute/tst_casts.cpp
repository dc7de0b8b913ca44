// SPDX-License-Identifier: Apache-2.0
// Every backend makes the bits that plain code makes. LibTorch's own casts must make the bits that plain code
// claims to make.
#include "core/tensor/convert.h"
#include "tests/core/compute/backends.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::vector<uint8_t> converted(
    const ComputeBackend& backend, DType from, const std::vector<uint8_t>& in, DType to)
{
    std::vector<uint8_t> out(in.size() / itemSize(from) * itemSize(to), 0xA5);
    const ElementCast cast{from, in, to, out};
    backend.transform({&cast, 1}, {});
    return out;
}

} // namespace

TEST_CASE("built modules load, or report what the machine lacks")
{
    if (wasBuilt("shardscope_torch")) {
        const auto torch = loadTorchBackend();
        REQUIRE_MESSAGE(torch, torch.error().message);
        CHECK((*torch)->name().starts_with("LibTorch "));
        CHECK((*torch)->device() == "cpu");
    }
    if (wasBuilt("shardscope_cuda")) {
        const auto cuda = loadCudaBackend({});
        if (!cuda) {
            CHECK(cuda.error().code == ErrorCode::Unsupported);
            // The module is there and ran: what fails is the driver or the device.
            CHECK(cuda.error().message.find("CUDA cannot be used: no ") == 0);
        }
    }
}

TEST_CASE("casts of all bit patterns equal those of plain code")
{
    std::mt19937_64 random(1);
    for (const BackendPtr& backend : moduleBackends()) {
        CAPTURE(backend->name());
        const auto compare = [&](DType from, DType to) {
            CAPTURE(dtypeName(from));
            CAPTURE(dtypeName(to));
            const std::vector<uint8_t> in = patterns(from, random);
            const auto meant = converted(plainBackend(), from, in, to);
            const auto found = converted(*backend, from, in, to);
            const auto apart = std::mismatch(meant.begin(), meant.end(), found.begin());
            const auto element = static_cast<size_t>(apart.first - meant.begin()) / itemSize(to);
            CAPTURE(element);
            if (apart.first != meant.end())
                CAPTURE(elementAsText(from, in.data() + element * itemSize(from)));
            CHECK(apart.first == meant.end());
        };
        for (const DType from : kFloats) {
            for (const DType to : kFloats)
                compare(from, to);
        }
        for (const DType from : kIntegers) {
            for (const DType to : kFloats)
                compare(from, to);
            for (const DType to : kIntegers)
                compare(from, to);
        }
    }
}

TEST_CASE("casts and sums of one call, for any length and offset")
{
    std::mt19937_64 random(2);
    for (const BackendPtr& backend : moduleBackends()) {
        CAPTURE(backend->name());
        for (int round = 0; round < 30; ++round) {
            struct Made {
                std::vector<uint8_t> in, meant, found;
                DType from, to;
            };
            std::vector<Made> made;
            const size_t count = 1 + random() % 40;
            for (size_t i = 0; i < count; ++i) {
                const DType from = kFloats[random() % std::size(kFloats)];
                const DType to = kFloats[random() % std::size(kFloats)];
                const size_t elements = random() % (round % 3 == 0 ? 70000 : 300);
                made.push_back({normalElements(from, elements, random), {}, {}, from, to});
                made.back().meant.resize(elements * itemSize(to));
                made.back().found.resize(elements * itemSize(to));
            }
            std::vector<ElementCast> meantCasts, foundCasts;
            std::vector<ElementSum> meantSums, foundSums;
            for (Made& one : made) {
                meantCasts.push_back({one.from, one.in, one.to, one.meant});
                foundCasts.push_back({one.from, one.in, one.to, one.found});
                const size_t item = itemSize(one.to);
                const size_t elements = one.meant.size() / item;
                const size_t begin = elements == 0 ? 0 : random() % elements;
                const DigestKey key{{random(), random(), random(), random()}};
                const uint64_t first = random() >> 20;
                std::optional<TransposedOrder> order;
                if (random() % 4 == 0)
                    order = TransposedOrder{1 + random() % 50, 1 + random() % 1000000};
                const uint64_t at = order ? random() % 50 : first;
                meantSums.push_back({key, static_cast<uint32_t>(item), order, at,
                    std::span<const uint8_t>(one.meant).subspan(begin * item), {}});
                foundSums.push_back({key, static_cast<uint32_t>(item), order, at,
                    std::span<const uint8_t>(one.found).subspan(begin * item), {}});
                // And for bytes that no cast makes.
                const auto source = static_cast<uint32_t>(itemSize(one.from));
                meantSums.push_back({key, source, std::nullopt, first, one.in, {}});
                foundSums.push_back({key, source, std::nullopt, first, one.in, {}});
            }
            plainBackend().transform(meantCasts, meantSums);
            backend->transform(foundCasts, foundSums);
            for (size_t i = 0; i < made.size(); ++i)
                CHECK(made[i].meant == made[i].found);
            for (size_t i = 0; i < meantSums.size(); ++i)
                CHECK(meantSums[i].digest == foundSums[i].digest);
        }
    }
}
