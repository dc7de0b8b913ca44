// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/universal/universal.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t kBatch = 2048; ///< files whose contents are in memory at once

/// Handles both forms: the tensor itself, or a dict that has it under `param`.
NodeId valueOf(const PickleGraph& graph)
{
    return isMapping(graph, graph.root()) ? lookup(graph, graph.root(), "param") : graph.root();
}

bool isTrue(const PickleGraph& graph, std::string_view key)
{
    const NodeId node = lookup(graph, graph.root(), key);
    return node != kNoNode && asBool(graph, node).value_or(true);
}

} // namespace

void ParamFindings::add(std::string_view code, Severity severity, std::string message,
    const std::string& param, std::string_view state, std::vector<std::string> evidence)
{
    auto& [worst, count] = m_counts[{code, std::string(state)}];
    worst = severity;
    if (++count <= kEach)
        m_reading.add(
            code, severity, std::move(message), ParamAddress{param, std::string(state)}, std::move(evidence));
}

void ParamFindings::finish()
{
    for (const auto& [kind, counted] : m_counts) {
        if (counted.second > kEach)
            m_reading.add(kind.first, counted.first,
                "the same is true of " + std::to_string(counted.second - kEach) + " parameters more",
                std::string(kUniversalFolder), {"state " + kind.second});
    }
    m_counts.clear();
}

Status StateFacts::read(Reading& reading, const std::vector<ParamFolder>& folders,
    const std::vector<bool>& isMember, ParamFindings& findings)
{
    if (folders.empty())
        return {};
    m_first = folders.front().firstFile;
    m_facts.resize(folders.back().firstFile + folders.back().fileCount - m_first);
    std::vector<std::pair<FileId, uint32_t>> batch; // each with its folder
    std::vector<FileId> ids;
    const auto flush = [&]() -> Status {
        SHARDSCOPE_CHECK(reading.job.poll());
        SHARDSCOPE_CHECK(loadFiles(reading, ids));
        for (const auto& [id, folder] : batch) {
            CheckpointFile& file = reading.out.files[index(id)];
            if (file.content && isMember[folder]) {
                if (stateOfFile(file, folders[folder]) == "step")
                    takeStep(reading, id, folders[folder], findings);
                else
                    take(reading, id, folders[folder], findings);
            }
            file.content.reset();
        }
        batch.clear();
        ids.clear();
        return {};
    };
    for (uint32_t f = 0; f < folders.size(); ++f) {
        for (uint32_t i = 0; i < folders[f].fileCount; ++i) {
            batch.emplace_back(FileId{folders[f].firstFile + i}, f);
            ids.push_back(batch.back().first);
            if (batch.size() >= kBatch)
                SHARDSCOPE_CHECK(flush());
        }
    }
    return flush();
}

void StateFacts::take(const Reading& reading, FileId id, const ParamFolder& folder, ParamFindings& findings)
{
    const CheckpointFile& file = reading.out.file(id);
    const PickleGraph& graph = file.content->pickle();
    const std::string_view state = stateOfFile(file, folder);
    const auto complain = [&](const std::string& why) {
        findings.add(code::kTensorInvalid, Severity::Error, "the tensor of this state cannot be used",
            folder.name, state, {file.name, why});
    };
    const NodeId node = valueOf(graph);
    if (node == kNoNode || !looksLikeTensor(graph, node))
        return complain("it is neither a tensor nor a dict with a tensor under `param`");
    const auto tensor = asTensor(graph, node);
    if (!tensor)
        return complain(describe(tensor.error()));
    if (!tensor->isContiguous())
        return complain("it is not contiguous: its shape is " + shapeText(tensor->sizes));
    const auto extent = file.content->extentOf(*tensor);
    if (!extent)
        return complain(describe(extent.error()));
    StateFact& fact = m_facts[index(id) - m_first];
    fact.read = true;
    fact.flat = tensor->sizes.size() == 1;
    fact.dtype = tensor->dtype;
    fact.run = {id, extent->record, extent->byteOffset, tensor->elements().value_or(0)};
    if (!isMapping(graph, graph.root()))
        return;
    fact.vocabulary = isTrue(graph, "vocab_tensor");
    fact.keptPadding = lookup(graph, graph.root(), "vocab_divisibility_padding_tensor") != kNoNode;
    fact.expert = isTrue(graph, "is_expert_param");
    if (state == "fp32")
        m_shapes.emplace(index(id), tensor->sizes);
}

void StateFacts::takeStep(
    const Reading& reading, FileId id, const ParamFolder& folder, ParamFindings& findings)
{
    const CheckpointFile& file = reading.out.file(id);
    const NodeId node = valueOf(file.content->pickle());
    const auto value = node == kNoNode ? std::nullopt : scalarOf(reading, id, node);
    if (!value) {
        findings.add(code::kTensorInvalid, Severity::Error, "the optimizer's step cannot be read",
            folder.name, "step", {file.name});
        return;
    }
    FlatUnit form; // holds the two facts that setStepForm() finds
    setStepForm(file.content->pickle(), node, form);
    m_steps.emplace(index(id), StepFact{*value, form.stepForm, form.stepType});
}

const StateFact* StateFacts::of(FileId file) const
{
    const size_t at = size_t{index(file)} - m_first;
    return index(file) >= m_first && at < m_facts.size() && m_facts[at].read ? &m_facts[at] : nullptr;
}

const StepFact* StateFacts::stepOf(FileId file) const
{
    const auto found = m_steps.find(index(file));
    return found == m_steps.end() ? nullptr : &found->second;
}

const Shape* StateFacts::shapeOf(FileId file) const
{
    const auto found = m_shapes.find(index(file));
    return found == m_shapes.end() ? nullptr : &found->second;
}

} // namespace shardscope
