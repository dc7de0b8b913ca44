// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/pickle/pickle_machine_opcodes.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/support/pickle_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

using namespace shardscope;
using namespace std::string_literals;

namespace {

const std::string kProto2 = "\x80\x02"s;

ErrorCode codeOf(const std::string& stream, const PickleLimits& limits = {})
{
    const auto parsed = fixture::tryParse(stream, limits);
    REQUIRE(!parsed);
    return parsed.error().code;
}

bool hasFinding(const PickleParse& parsed, std::string_view code, std::string_view text)
{
    return std::any_of(parsed.findings.begin(), parsed.findings.end(), [&](const Finding& finding) {
        return finding.code == code && finding.message.find(text) != std::string::npos;
    });
}

/// Parses, and looks at everything that the recognisers and the writer would.
void exercise(const std::string& stream)
{
    const auto parsed = fixture::tryParse(stream);
    if (!parsed)
        return;
    const PickleGraph& graph = parsed->graph;
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node{i};
        CHECK(nodeText(graph, node, 80).size() < 100);
        (void)asTensor(graph, node);
        (void)asObject(graph, node);
        (void)asShape(graph, node);
        (void)lookup(graph, node, "step");
    }
    const auto written = emitPickle(graph);
    if (!written) {
        CHECK(written.error().code == ErrorCode::Unsupported);
        return;
    }
    const auto again = fixture::tryParse(*written);
    REQUIRE(again);
    const auto twice = emitPickle(again->graph);
    REQUIRE(twice);
    CHECK(*written == *twice);
}

} // namespace

TEST_CASE("P01 P02 P04 P27: dangerous names are labelled in any position, and stay data")
{
    const std::string call = "(X\x02\x00\x00\x00lstR"s;
    for (const auto& [stream, name] : std::vector<std::pair<std::string, std::string>>{
             {kProto2 + "cos\nsystem\n" + call + ".", "os.system"},
             {kProto2 + "cposix\nsystem\n" + call + ".", "posix.system"},
             {kProto2 + "cbuiltins\neval\n" + call + ".", "builtins.eval"},
             {kProto2 + "c__builtin__\nexec\n" + call + ".", "__builtin__.exec"},
             {kProto2 + "crunpy\nrun_path\n" + call + ".", "runpy.run_path"},
             {kProto2 + "cpty\nspawn\n" + call + ".", "pty.spawn"},
             {"\x80\x04\x8c\x02os\x8c\x06system\x93"s + call + ".", "os.system"},
             {"\x80\x04\x8c\x02os\x94\x8c\x06system\x94h\x00h\x01\x93"s + call + ".", "os.system"},
             {"(X\x02\x00\x00\x00lsios\nsystem\n."s, "os.system"},
             {"(cos\nsystem\nX\x02\x00\x00\x00lso."s, "os.system"},
             {"\x80\x04"s + "cos\nsystem\n)}\x92.", "os.system"},
             {kProto2 + "K\x01" + "cos\nsystem\n" + call + "0.", "os.system"},
             {kProto2 + "cos\nsystem\n" + call + "0K\x01.", "os.system"},
             {kProto2 + "ctorch.storage\nos.system\n" + call + ".", "torch.storage.os.system"},
             {kProto2 + "cfunctools\nreduce\n" + call + ".", "functools.reduce"},
             {kProto2 + "c__builtin__\ngetattr\n" + call + ".", "__builtin__.getattr"}}) {
        CAPTURE(name);
        const auto parsed = fixture::tryParse(stream);
        REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
        CHECK(hasFinding(*parsed, code::kPickleDangerous, name));
        exercise(stream);
    }
}

TEST_CASE("a popped call is written back if another object refers to it")
{
    const std::string stream
        = kProto2 + "]q\x00"s + "cos\nsystem\nq\x01X\x02\x00\x00\x00lsq\x02\x85Rq\x03"s + "0.";
    CHECK(emitPickle(fixture::parse(stream)).value().find("cos\nsystem\n") != std::string::npos);
}

TEST_CASE("getattr of the ZeRO stage enum is data, any other getattr is not")
{
    const std::string enumClass = "cdeepspeed.runtime.zero.config\nZeroStageEnum\n";
    const std::string lookupOnly
        = kProto2 + "c__builtin__\ngetattr\n" + enumClass + "X\x07\x00\x00\x00weights\x86R."s;
    const auto harmless = fixture::tryParse(lookupOnly);
    REQUIRE(harmless);
    CHECK(!hasFinding(*harmless, code::kPickleDangerous, "getattr"));
    const auto byName
        = [](std::string_view name) { return name == "weights" ? std::optional<int64_t>(3) : std::nullopt; };
    CHECK(asEnumValue(harmless->graph, harmless->graph.root(), "deepspeed.runtime.zero.config",
              "ZeroStageEnum", byName)
        == 3);
    CHECK(asEnumValue(harmless->graph, harmless->graph.root(), "other", "ZeroStageEnum", byName)
        == std::nullopt);
    // The same getattr is also handed to something else.
    const std::string both = kProto2 + "(c__builtin__\ngetattr\nq\x00"s + enumClass
        + "X\x07\x00\x00\x00weights\x86Rcfunctools\npartial\nh\x00\x85Rt."s;
    const auto mixed = fixture::tryParse(both);
    REQUIRE(mixed);
    CHECK(hasFinding(*mixed, code::kPickleDangerous, "getattr"));
}

TEST_CASE("P03: a stream that breaks after its payload names the payload")
{
    const auto parsed = fixture::tryParse(kProto2 + "cos\nsystem\nX\x02\x00\x00\x00ls\x85R\xFF"s);
    REQUIRE(!parsed);
    CHECK(parsed.error().code == ErrorCode::Damaged);
    CHECK(parsed.error().message.find("os.system") != std::string::npos);
}

TEST_CASE("P04 P20: names and texts cannot fake output on screen")
{
    const PickleGraph graph = fixture::parse(kProto2 + "cevil\r\x1b[2J\nna\xE2\x80\xAEme\n."s);
    const std::string text = nodeText(graph, graph.root());
    CHECK(text == "evil\\x0d\\x1b[2J.na\\u202eme");
    CHECK(codeOf(kProto2 + "X\x02\x00\x00\x00\xFF\xFE."s) == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + "X\x02\x00\x00\x00\xC0\x80."s) == ErrorCode::Damaged);
    const PickleGraph lone = fixture::parse(kProto2 + "X\x03\x00\x00\x00\xED\xA0\x80."s);
    CHECK(lone.text(lone.root()) == "\xED\xA0\x80");
    CHECK(nodeText(lone, lone.root()).find("\xED\xA0\x80") == std::string::npos);
}

TEST_CASE("P05: a class called Storage in another module is not a storage")
{
    const auto persistent = [](const std::string& type) {
        return kProto2 + "(X\x07\x00\x00\x00storagec"s + type + "X\x01\x00\x00\x00"s + "0X\x03\x00\x00\x00"s
            + "cpuK\x04tQ."s;
    };
    const auto storageOf = [](const std::string& stream) {
        const PickleGraph graph = fixture::parse(stream);
        return asStorage(graph, graph.root()).has_value();
    };
    CHECK(storageOf(persistent("torch\nFloatStorage\n")));
    CHECK(storageOf(persistent("torch.storage\nUntypedStorage\n")));
    CHECK(!storageOf(persistent("evil\nFloatStorage\n")));
    CHECK(!storageOf(persistent("torch\nMyStorage\n")));
    CHECK(!storageOf(persistent("torch.FloatStorage\nx\n")));
}

TEST_CASE("P06 P07 P08 P10 P11 P14 P24: broken framing is refused at its byte")
{
    CHECK(codeOf("\x80\x06N."s) == ErrorCode::Damaged);
    CHECK(codeOf("\x80\x63N."s) == ErrorCode::Damaged);
    CHECK(fixture::tryParse("N."s).has_value());
    CHECK(fixture::tryParse(kProto2 + kProto2 + "N.").has_value());
    const auto unknown = fixture::tryParse(kProto2 + "N\xFE.");
    REQUIRE(!unknown);
    CHECK(unknown.error().message.find("byte 3 (0xFE)") != std::string::npos);
    CHECK(codeOf("") == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + "N") == ErrorCode::Damaged);
    const auto trailing = fixture::tryParse(kProto2 + "N.more");
    REQUIRE(trailing);
    CHECK(trailing->consumedBytes == 4);
    CHECK(codeOf(kProto2 + "(N.") == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + "1N.") == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + ".") == ErrorCode::Damaged);
    const auto leftover = fixture::tryParse(kProto2 + "K\x01K\x02.");
    REQUIRE(leftover);
    CHECK(hasFinding(*leftover, code::kTrailingData, "left on the stack"));
    CHECK(codeOf(kProto2 + "h\x05.") == ErrorCode::Damaged);
    CHECK(codeOf("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00N."s) == ErrorCode::Damaged);
    CHECK(fixture::tryParse("\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00N."s).has_value());
    CHECK(fixture::tryParse("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00N."s).has_value());
}

TEST_CASE("P07: exactly 68 bytes are opcodes")
{
    int known = 0;
    for (int byte = 0; byte < 256; ++byte) {
        if (!opcodeName(static_cast<uint8_t>(byte)).empty()) {
            ++known;
            continue;
        }
        const auto parsed
            = fixture::tryParse(kProto2 + "N" + static_cast<char>(static_cast<unsigned char>(byte)) + ".");
        REQUIRE(!parsed);
        CHECK(parsed.error().message.find("unknown opcode") != std::string::npos);
    }
    CHECK(known == 68);
}

TEST_CASE("P09: every opcode that takes items refuses an empty stack, and a mark in their place")
{
    const std::vector<std::string> takers{"0", "2", "Q", "R", "a", "b", "d", "e", "l", "o", "p0\n", "q\x00"s,
        "r\x00\x00\x00\x00"s, "s", "t", "u", "\x81", "\x85", "\x86", "\x87", "\x90", "\x91", "\x92", "\x93",
        "\x94", "1", "im\nn\n", "\x98"};
    for (const std::string& taker : takers) {
        CAPTURE(taker);
        CHECK(codeOf(kProto2 + taker + ".") == ErrorCode::Damaged);
        // Items below the mark must not be reached.
        const std::string withMark = kProto2 + "]]](" + taker + ".";
        if (std::set<std::string>{"R", "a", "b", "o", "q\x00"s, "r\x00\x00\x00\x00"s, "p0\n", "s", "2", "Q",
                "\x81", "\x85", "\x86", "\x87", "\x92", "\x93", "\x94"}
                .contains(taker))
            CHECK(codeOf(withMark) == ErrorCode::Damaged);
        exercise(withMark);
    }
    for (int byte = 0; byte < 256; ++byte)
        for (const std::string& tail : {""s, "\x01."s, "\x00\x00\x00\x00\x00\x00\x00\x00."s, "1\n2\n."s})
            exercise(kProto2 + static_cast<char>(static_cast<unsigned char>(byte)) + tail);
}

TEST_CASE("P12: announced lengths are checked before anything is allocated")
{
    CHECK(codeOf(kProto2 + "X\xFF\xFF\xFF\xFF" + "abc.") == ErrorCode::Damaged);
    CHECK(codeOf("\x80\x04\x8d\x00\x00\x00\x00\x00\x00\x00\x80"s + "abc.") == ErrorCode::Damaged);
    CHECK(codeOf("\x80\x04\x8e\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s + "abc.") == ErrorCode::Damaged);
    CHECK(codeOf("\x80\x05\x96\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s + "abc.") == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + "\x8b\xFF\xFF\xFF\xFF" + "abc.") == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + "T\xFF\xFF\xFF\xFF" + "abc.") == ErrorCode::Damaged);
}

TEST_CASE("P13: a memo index is not used as a size")
{
    const PickleGraph graph = fixture::parse(kProto2 + "]r\xFF\xFF\xFF\xFF" + "j\xFF\xFF\xFF\xFF" + "\x86.");
    const auto items = graph.items(graph.root());
    REQUIRE(items.size() == 2);
    CHECK(items[0] == items[1]);
}

TEST_CASE("P18: items are only added to containers")
{
    const std::string tensor = "ctorch._utils\n_rebuild_tensor_v2\n)R";
    const std::string object = "cm\nClass\n)\x81";
    CHECK(codeOf(kProto2 + "}(K\x01u.") == ErrorCode::Damaged);
    for (const std::string& target : {"]"s, tensor, "K\x01"s, ")"s, "X\x01\x00\x00\x00y"s, "\x8f"s}) {
        CHECK(codeOf(kProto2 + target + "K\x01K\x02s.") == ErrorCode::Damaged);
        CHECK(codeOf(kProto2 + target + "(K\x01K\x02u.") == ErrorCode::Damaged);
    }
    for (const std::string& target : {"}"s, tensor, "K\x01"s, ")"s, "\x8f"s})
        CHECK(codeOf(kProto2 + target + "K\x01" + "a.") == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + "](K\x01\x90.") == ErrorCode::Damaged);
    CHECK(fixture::tryParse(kProto2 + object + "K\x01K\x02s.").has_value());
    CHECK(fixture::tryParse(kProto2 + object + "K\x01" + "a.").has_value());
}

TEST_CASE("P19: odd keys are kept, the last equal one wins, nothing is hashed")
{
    const std::string nan = "G\x7f\xf8\x00\x00\x00\x00\x00\x00"s;
    const PickleGraph graph = fixture::parse(kProto2 + "}(" + nan + "K\x01" + nan
        + "K\x02]K\x03X\x01\x00\x00\x00"s + "aK\x04X\x01\x00\x00\x00"s + "aK\x05K\x01K\x06\x88K\x07u.");
    CHECK(graph.items(graph.root()).size() == 14);
    CHECK(asInteger(graph, lookup(graph, graph.root(), "a")) == 5);
    CHECK(asInteger(graph, lookup(graph, graph.root(), 1)) == 6);
    CHECK(lookup(graph, graph.root(), "b") == kNoNode);
}

TEST_CASE("P21: numbers in text are read strictly")
{
    for (const char* text : {"I1x\n.", "I\n.", "I 1\n.", "I0x10\n.", "L1.5L\n.", "LL\n.", "Fabc\n.", "F\n.",
             "F0x1p3\n.", "F1.5 \n.", "I--1\n.", "I+1\n.", "px\n.", "gx\n."}) {
        CAPTURE(text);
        CHECK(codeOf(text) == ErrorCode::Damaged);
    }
    CHECK(codeOf("L" + std::string(1 << 20, '9') + "L\n.") == ErrorCode::LimitExceeded);
    const auto number = [](const std::string& stream) {
        const PickleGraph graph = fixture::parse(stream);
        return graph.kind(graph.root()) == NodeKind::Float ? graph.real(graph.root())
                                                           : static_cast<double>(graph.integer(graph.root()));
    };
    CHECK(number("I-12\n.") == -12);
    CHECK(number("L12L\n.") == 12);
    CHECK(number("F1e400\n.") == INFINITY);
    CHECK(std::isnan(number("Fnan\n.")));
    const PickleGraph big = fixture::parse("L-18446744073709551616L\n.");
    CHECK(nodeText(big, big.root()) == "-0x10000000000000000");
    const PickleGraph truth = fixture::parse("I01\n.");
    CHECK(truth.boolean(truth.root()));
}

TEST_CASE("P22: every bit of a double is kept")
{
    for (const uint64_t bits : std::initializer_list<uint64_t>{
             0x8000000000000000u, 0x7FF8000000000123u, 0xFFF0000000000001u, 0x0000000000000001u}) {
        std::string stream = kProto2 + "G";
        for (int shift = 56; shift >= 0; shift -= 8)
            stream.push_back(static_cast<char>(static_cast<unsigned char>(bits >> shift)));
        stream.push_back('.');
        const PickleGraph graph = fixture::parse(stream);
        CHECK(std::bit_cast<uint64_t>(graph.real(graph.root())) == bits);
        CHECK(emitPickle(graph).value() == stream);
    }
}

TEST_CASE("P23 P25 P26: odd references and states are kept and mean nothing")
{
    for (const std::string& stream : {"Pstorage\n."s, kProto2 + "K\x01Q.", kProto2 + "X\x01\x00\x00\x00xQ."s,
             kProto2 + ")Q.", kProto2 + "(K\x01K\x01K\x01K\x01K\x01tQ."}) {
        const PickleGraph graph = fixture::parse(stream);
        CHECK(graph.kind(graph.root()) == NodeKind::PersistentId);
        CHECK(!asStorage(graph, graph.root()));
        exercise(stream);
    }
    const auto buffer = fixture::tryParse("\x80\x05\x97."s);
    REQUIRE(buffer);
    CHECK(hasFinding(*buffer, code::kPickleOpaque, "buffer"));
    CHECK(emitPickle(buffer->graph).error().code == ErrorCode::Unsupported);
    const auto extension = fixture::tryParse(kProto2 + "\x82\x07.");
    REQUIRE(extension);
    CHECK(emitPickle(extension->graph).error().code == ErrorCode::Unsupported);
    CHECK(codeOf(kProto2 + "\x82\x00."s) == ErrorCode::Damaged);
    CHECK(codeOf(kProto2 + "\x84\xFF\xFF\xFF\xFF."s) == ErrorCode::Damaged);
    // BUILD on a list, on an int, twice.
    for (const std::string& stream : {kProto2 + "]q\x00}q\x01"s + "b."s, kProto2 + "K\x05K\x06" + "b.",
             kProto2 + "cm\nC\nq\x00)\x81q\x01}q\x02"s + "bK\x07" + "b."s}) {
        const PickleGraph graph = fixture::parse(stream);
        CHECK(graph.state(graph.root()) != kNoNode);
        if (stream.find("q\x00"s) != std::string::npos)
            CHECK(emitPickle(graph).value() == stream);
        exercise(stream);
    }
}

TEST_CASE("P28: limits stop what costs too much")
{
    PickleLimits limits;
    limits.opcodes = 100000;
    std::string bomb = kProto2;
    for (int i = 0; i < 200000; ++i)
        bomb += "N0";
    CHECK(codeOf(bomb + "N.", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.nodes = 10;
    CHECK(codeOf(kProto2 + "(" + std::string(11, 'N') + "t.", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.stackDepth = 10;
    CHECK(codeOf(kProto2 + "(" + std::string(11, 'N') + "t.", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.markDepth = 10;
    CHECK(codeOf(kProto2 + std::string(11, '(') + ".", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.streamBytes = 3;
    CHECK(codeOf(kProto2 + "N.", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.stringBytes = 2;
    CHECK(codeOf(kProto2 + "X\x03\x00\x00\x00"s + "abc.", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.integerBytes = 2;
    CHECK(codeOf(kProto2 + "\x8a\x03" + "abc.", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.globalNameBytes = 2;
    CHECK(codeOf(kProto2 + "cabc\nd\n.", limits) == ErrorCode::LimitExceeded);
    limits = {};
    limits.arenaBytes = 1 << 16;
    CHECK(codeOf(kProto2 + "(" + std::string(100000, 'N') + "t.", limits) == ErrorCode::LimitExceeded);
    std::stop_source stop;
    stop.request_stop();
    JobContext job(stop.get_token());
    CHECK(parsePickle(std::make_shared<const std::string>(kProto2 + "N."), {}, job).error().code
        == ErrorCode::Cancelled);
}

TEST_CASE("P29: a Python 2 file keeps its 8-bit strings")
{
    const PickleGraph graph = fixture::parse("(dp0\nS'a\\x00\\'\\n'\np1\nI5\nsV\\u00e9x\np2\ng1\ns."s);
    const auto items = graph.items(graph.root());
    REQUIRE(items.size() == 4);
    CHECK(graph.kind(items[0]) == NodeKind::Bytes);
    CHECK(graph.text(items[0]) == "a\0'\n"s);
    CHECK(graph.text(items[2]) == "\xC3\xA9x");
    CHECK(items[3] == items[0]);
    CHECK(emitPickle(graph).value()
        == kProto2 + "}q\x00(U\x04"s + "a\0'\nq\x01K\x05X\x03\x00\x00\x00\xC3\xA9xq\x02h\x01u."s);
}

TEST_CASE("truncated and changed streams are refused or read, and never crash the reader")
{
    for (const char* name : {"optimizer_states", "model_states", "client_state", "protocol0", "protocol5"}) {
        const std::string stream = fixture::readPickle(name);
        for (size_t cut = 0; cut < stream.size(); ++cut)
            CHECK(!fixture::tryParse(stream.substr(0, cut)).has_value());
        for (size_t at = 0; at < stream.size(); at += 3) {
            std::string changed = stream;
            changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
            exercise(changed);
        }
    }
}
