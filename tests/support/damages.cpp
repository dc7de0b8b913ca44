// SPDX-License-Identifier: Apache-2.0
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include "core/plan/compose/literal_archive.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace shardscope::test {

namespace fs = std::filesystem;

namespace {

const fs::path kSamples = fs::path(sourceFolder()) / "tests/data/samples";

/// What is copied from the source file, as bytes.
void makeLiteral(OutputRecord& record, const std::string& source)
{
    if (record.content != OutputRecord::Content::Segments)
        return;
    const auto cursor = record.cursor();
    for (Segment segment; cursor->next(segment);) {
        if (segment.source == Segment::kZero)
            record.literal += std::string(segment.bytes, '\0');
        else
            record.literal += source.substr(segment.sourceOffset, segment.bytes);
    }
    record.content = OutputRecord::Content::Literal;
}

} // namespace

std::vector<std::string> allSamples()
{
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(kSamples)) {
        if (!entry.is_directory())
            continue;
        for (const auto& tag : fs::directory_iterator(entry.path())) {
            if (tag.is_directory())
                out.push_back(entry.path().filename().string() + ":" + tag.path().filename().string());
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

Surgery::Surgery(const TorchFile& file)
    : m_file(file)
    , m_composer(file, 0)
{
}

NodeId Surgery::at(const Way& way) const
{
    NodeId node = graph().root();
    for (const Step& step : way) {
        if (const auto* const key = std::get_if<const char*>(&step)) {
            CAPTURE(std::string(*key));
            node = lookup(graph(), node, std::string_view(*key));
            REQUIRE(node != kNoNode);
            continue;
        }
        const auto number = static_cast<size_t>(std::get<int>(step));
        if (isMapping(graph(), node)) {
            node = lookup(graph(), node, static_cast<int64_t>(number));
            REQUIRE(node != kNoNode);
            continue;
        }
        const auto items = sequenceItems(graph(), node);
        REQUIRE(number < items.size());
        node = items[number];
    }
    return node;
}

void Surgery::set(const Way& way, NodeId value)
{
    m_composer.substitute(at(way), value);
}

NodeId Surgery::rebuilt(NodeId mapping, const Entry& keep, const std::function<void(NodeId made)>& more)
{
    REQUIRE(isMapping(graph(), mapping));
    const NodeId made = graph().kind(mapping) == NodeKind::Dict ? builder().dict() : m_composer.orderedDict();
    const auto items = mappingItems(graph(), mapping);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        NodeId key = kNoNode;
        NodeId value = items[i + 1];
        const auto text = asString(graph(), items[i]);
        if (keep && !keep(text ? std::string(*text) : std::string(), key, value))
            continue;
        const NodeId madeKey = key != kNoNode ? key : m_composer.import(items[i]);
        builder().setItem(made, madeKey, m_composer.import(value));
    }
    if (more)
        more(made);
    return made;
}

void Surgery::remove(const Way& mapping, const std::string& key)
{
    bool found = false;
    const NodeId node = at(mapping);
    const NodeId made = rebuilt(
        node,
        [&](const std::string& name, NodeId&, NodeId&) {
            found = found || name == key;
            return name != key;
        },
        nullptr);
    REQUIRE(found);
    m_composer.substitute(node, made);
}

void Surgery::add(const Way& mapping, const std::string& key, NodeId value)
{
    const NodeId node = at(mapping);
    m_composer.substitute(node,
        rebuilt(node, nullptr, [&](NodeId made) { builder().setItem(made, builder().string(key), value); }));
}

void Surgery::rename(const Way& mapping, const std::string& key, const std::string& to)
{
    bool found = false;
    const NodeId node = at(mapping);
    const NodeId made = rebuilt(
        node,
        [&](const std::string& name, NodeId& keyNode, NodeId&) {
            if (name == key) {
                keyNode = builder().string(to);
                found = true;
            }
            return true;
        },
        nullptr);
    REQUIRE(found);
    m_composer.substitute(node, made);
}

void Surgery::editTensor(const Way& tensor, const std::function<void(std::string& elements)>& edit)
{
    const NodeId node = at(tensor);
    const auto view = asTensor(graph(), node);
    REQUIRE(view);
    REQUIRE(view->isContiguous());
    const auto extent = m_file.extentOf(*view);
    REQUIRE(extent);
    std::string elements = slurp(m_file.path()).substr(extent->byteOffset, extent->bytes);
    edit(elements);
    std::vector<uint64_t> sizes(view->sizes.begin(), view->sizes.end());
    if (elements.size() != extent->bytes)
        sizes = {elements.size() / itemSize(view->dtype)};
    m_composer.substitute(node, m_composer.smallTensor(view->dtype, sizes, std::move(elements)));
}

std::string Surgery::finish()
{
    const auto small = readSmallRecords(io::realFileSystem(), m_file);
    REQUIRE(small);
    auto made = m_composer.finish(m_file.path().filename().string(), *small);
    REQUIRE(made);
    const std::string source = slurp(m_file.path());
    for (OutputRecord& record : made->records)
        makeLiteral(record, source);
    auto bytes = literalArchiveBytes(*made);
    REQUIRE(bytes);
    return *bytes;
}

Patchable::Patchable(const std::string& sample, const std::string& tag)
{
    const size_t colon = sample.find(':');
    const std::string name = sample.substr(0, colon);
    m_run = m_folder / name;
    fs::copy(kSamples / name, m_run, fs::copy_options::recursive);
    m_tag = m_run
        / (colon != std::string::npos ? sample.substr(colon + 1)
                : tag.empty()         ? slurp(m_run / "latest")
                                      : tag);
}

std::vector<std::string> Patchable::filesLike(const std::string& ending) const
{
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(m_tag)) {
        if (const std::string name = entry.path().filename().string(); name.ends_with(ending))
            out.push_back(name);
    }
    std::sort(out.begin(), out.end());
    REQUIRE(!out.empty());
    return out;
}

void Patchable::operate(const std::string& name, const std::function<void(Surgery&)>& edit) const
{
    CAPTURE(name);
    JobContext job;
    const auto file = TorchFile::open(io::realFileSystem(), m_tag / name, ReadMode::Strict, job);
    REQUIRE(file);
    Surgery surgery(**file);
    edit(surgery);
    spill(m_tag / name, surgery.finish());
}

void Patchable::operateOnAll(const std::string& ending, const std::function<void(Surgery&)>& edit) const
{
    for (const std::string& name : filesLike(ending))
        operate(name, edit);
}

CheckResult Patchable::check(CheckDepth depth, const std::string& target) const
{
    CheckOptions options;
    options.depth = depth;
    options.open.tag = m_tag.filename().string();
    options.jobs = 2;
    const auto asked = parseCheckTarget(target);
    REQUIRE(asked);
    options.target = *asked;
    JobContext job;
    auto result = examine(io::realFileSystem(), m_run, options, job);
    REQUIRE(result);
    for (const DoctorFinding& found : result->findings) {
        CAPTURE(found.finding.code);
        REQUIRE(found.diagnosis != nullptr);
        CHECK(found.diagnosis->worst >= found.finding.severity); // as `check --list` has it
    }
    return std::move(*result);
}

CheckpointPtr opened(const std::filesystem::path& path, const std::string& tag, OpenDepth depth)
{
    OpenOptions options;
    options.tag = tag;
    options.depth = depth;
    JobContext job;
    const auto out = openCheckpoint(io::realFileSystem(), path, options, job);
    REQUIRE_MESSAGE(out.has_value(), (out ? "" : describe(out.error())));
    return out->checkpoint;
}

std::set<std::string> troubles(const CheckResult& result)
{
    std::set<std::string> out;
    for (const DoctorFinding& found : result.findings) {
        if (found.finding.severity != Severity::Info)
            out.insert(std::string(found.finding.code));
    }
    return out;
}

const DoctorFinding* findingOf(const CheckResult& result, std::string_view code)
{
    for (const DoctorFinding& found : result.findings) {
        if (found.finding.code == code)
            return &found;
    }
    return nullptr;
}

const DoctorFinding& requireFinding(const CheckResult& result, std::string_view code)
{
    CAPTURE(code);
    const DoctorFinding* found = findingOf(result, code);
    REQUIRE(found != nullptr);
    return *found;
}

std::string textOf(const DoctorFinding& finding)
{
    std::string out = finding.finding.where.text() + ": " + finding.finding.message;
    for (const std::string& line : finding.finding.evidence)
        out += "; " + line;
    return out;
}

} // namespace shardscope::test
