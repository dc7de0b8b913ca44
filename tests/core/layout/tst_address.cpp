// SPDX-License-Identifier: Apache-2.0
#include "core/layout/address.h"

#include "core/base/text.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

#include <random>

using namespace shardscope;

TEST_CASE("the three spellings of cli.md")
{
    const auto param = parseAddress("layers.0.mlp.weight#exp_avg[120:128]");
    REQUIRE(param);
    CHECK(std::get<ParamAddress>(*param)
        == ParamAddress{"layers.0.mlp.weight", "exp_avg", std::pair<uint64_t, uint64_t>(120, 128)});
    CHECK(formatAddress(*param) == "layers.0.mlp.weight#exp_avg[120:128]");

    const auto flat = parseAddress("dp3.tp0.pp0/group1+4096@exp_avg");
    REQUIRE(flat);
    CHECK(std::get<FlatAddress>(*flat) == FlatAddress{{3, 0, 0}, false, 1, 4096, "exp_avg"});
    CHECK(formatAddress(*flat) == "dp3.tp0.pp0/group1+4096@exp_avg");
    CHECK(std::get<FlatAddress>(*parseAddress("dp0.tp1.pp2/subgroup7+0"))
        == FlatAddress{{0, 1, 2}, true, 7, 0, ""});
    const auto elements = parseAddress("dp3.tp0.pp0/subgroup1+5:9@exp_avg");
    REQUIRE(elements);
    CHECK(std::get<FlatAddress>(*elements) == FlatAddress{{3, 0, 0}, true, 1, 5, "exp_avg", 9});
    CHECK(formatAddress(*elements) == "dp3.tp0.pp0/subgroup1+5:9@exp_avg");
    CHECK(!parseAddress("dp3.tp0.pp0/subgroup1+5:5"));
    CHECK(!parseAddress("dp3.tp0.pp0/subgroup1+5:"));

    const auto file = parseAddress("zero_pp_rank_3_mp_rank_00_optim_states.pt!data/7+512");
    REQUIRE(file);
    CHECK(std::get<FileAddress>(*file)
        == FileAddress{"zero_pp_rank_3_mp_rank_00_optim_states.pt", "data/7", 512});
    CHECK(formatAddress(*file) == "zero_pp_rank_3_mp_rank_00_optim_states.pt!data/7+512");
    CHECK(std::get<FileAddress>(*parseAddress("a folder/x.pt+9")) == FileAddress{"a folder/x.pt", "", 9});
}

TEST_CASE("special characters are written %HH, all others stay")
{
    const ParamAddress odd{"a[0].w*#%+@! /\xC3\xA9\n", "fp32", std::nullopt};
    const std::string text = formatAddress(odd);
    CHECK(text == "a%5B0%5D.w*%23%25%2B%40%21 /\xC3\xA9%0A#fp32");
    CHECK(std::get<ParamAddress>(*parseAddress(text)) == odd);
    // Unambiguous characters are also read unescaped.
    CHECK(std::get<ParamAddress>(*parseAddress("a[0].w#fp32[1:2]")).name == "a[0].w");
}

TEST_CASE("invalid addresses are refused with the reason")
{
    for (const char* text :
        {"", "weight", "w#", "w#fp32[1:1]", "w#fp32[2:1]", "w#fp32[1:2", "w#fp32[1]", "w#fp32[1:2]x",
            "w#fp32[-1:2]", "w#fp32[1:99999999999999999999999]", "w%4#fp32", "w%zz#fp32", "+5", "!r+5",
            "f!+5", "f!r", "f!r+", "f+x", "f+5x", "dp0.tp0.pp0/group1", "f+1!r", "%#x[", "%+1"}) {
        CAPTURE(text);
        const auto parsed = parseAddress(text);
        REQUIRE_FALSE(parsed);
        CHECK(parsed.error().code == ErrorCode::Usage);
        CHECK_FALSE(parsed.error().hint.text.empty());
    }
    // Almost a rank: this is read as a file's name.
    CHECK(std::holds_alternative<FileAddress>(*parseAddress("dp0.tp0/group1+4")));
}

TEST_CASE("random addresses are unchanged after formatting and parsing")
{
    std::mt19937_64 random(42);
    const auto pick = [&](uint64_t high) { return std::uniform_int_distribution<uint64_t>(0, high)(random); };
    const auto text = [&](size_t shortest) {
        static constexpr std::string_view kAlphabet = "ab.%#![]+@/: *dp0sg\x01\x7F\n\xC3\xA9";
        std::string out;
        for (size_t length = shortest + pick(9); out.size() < length;)
            out += kAlphabet[pick(kAlphabet.size() - 1)];
        return out;
    };
    for (int trial = 0; trial < 20'000; ++trial) {
        Address address;
        switch (pick(2)) {
        case 0: {
            ParamAddress param{text(0), text(1), std::nullopt};
            if (pick(1) == 0) {
                const uint64_t begin = random() >> pick(63);
                param.range = {begin, begin + 1 == 0 ? begin : begin + 1};
                if (param.range->first == param.range->second)
                    param.range = {0, begin};
            }
            address = param;
            break;
        }
        case 1:
            address = FlatAddress{{static_cast<uint32_t>(random()), static_cast<uint32_t>(pick(9)), 0},
                pick(1) == 0, static_cast<uint32_t>(pick(99)), random(), pick(1) == 0 ? "" : text(1)};
            break;
        default:
            address = FileAddress{text(1), pick(1) == 0 ? "" : text(1), random()};
        }
        const std::string spelled = formatAddress(address);
        CAPTURE(spelled);
        const auto parsed = parseAddress(spelled);
        REQUIRE(parsed);
        REQUIRE(*parsed == address);
    }
}

TEST_CASE("a parameter's verbatim name is an address")
{
    test::SyntheticOptions options;
    options.stage = 2;
    options.shapes = {{"plain", {2}}, {"x#fp32[0:1]", {2}}, {"f.pt+7", {2}}};
    options.buffers = 1;
    const Checkpoint checkpoint = test::buildSyntheticCheckpoint(options);
    const auto parse
        = [&](std::string_view text) { return std::get<ParamAddress>(*parseAddress(text, checkpoint)); };
    CHECK(parse("plain") == ParamAddress{"plain", "fp32", std::nullopt});
    CHECK(parse("x#fp32[0:1]") == ParamAddress{"x#fp32[0:1]", "fp32", std::nullopt});
    CHECK(parse("f.pt+7") == ParamAddress{"f.pt+7", "fp32", std::nullopt});
    CHECK(parse("buffer.0") == ParamAddress{"buffer.0", "weight", std::nullopt});
    CHECK(parse("plain#weight") == ParamAddress{"plain", "weight", std::nullopt});
    CHECK_FALSE(parseAddress("no such name", checkpoint));
}
