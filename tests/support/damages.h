// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/plan/compose/archive_composer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace shardscope::test {

/// Opens what can be opened: the test fails if it cannot.
CheckpointPtr opened(
    const std::filesystem::path& path, const std::string& tag = {}, OpenDepth depth = OpenDepth::Full);

/// Names of all samples, and of those that DeepSpeed converted: "NAME:TAG".
std::vector<std::string> allSamples();

/// Keys and positions from the root of a pickle: {"optimizer_state_dict", "zero_stage"}, {"a", 0, "lr"}.
using Step = std::variant<const char*, int>;
using Way = std::vector<Step>;

/// The pickle of one file while it is changed. Everything else stays unchanged.
class Surgery
{
public:
    explicit Surgery(const TorchFile& file);

    [[nodiscard]] const PickleGraph& graph() const { return m_file.pickle(); }
    ArchiveComposer& composer() { return m_composer; }
    PickleBuilder& builder() { return m_composer.builder(); }

    /// The node at the end of the path; the test fails if there is none.
    [[nodiscard]] NodeId at(const Way& way) const;
    /// Replaces the existing value.
    void set(const Way& way, NodeId value);
    void set(const Way& way, int64_t value) { set(way, builder().integer(value)); }
    /// A mapping without a key, with one more at its end, or with a key renamed.
    void remove(const Way& mapping, const std::string& key);
    void add(const Way& mapping, const std::string& key, NodeId value);
    void rename(const Way& mapping, const std::string& key, const std::string& to);
    /// The tensor's elements as they are stored, changed by `edit`, in a storage of its own; flat where there
    /// are more or fewer of them afterwards.
    void editTensor(const Way& tensor, const std::function<void(std::string& elements)>& edit);

    /// The bytes of the changed file.
    std::string finish();

private:
    using Entry = std::function<bool(const std::string& key, NodeId& keyNode, NodeId& value)>;
    NodeId rebuilt(NodeId mapping, const Entry& keep, const std::function<void(NodeId made)>& more);

    const TorchFile& m_file;
    ArchiveComposer m_composer;
};

/// A copy of a sample, "NAME" or "NAME:TAG", that can be damaged. Without a tag: the one that `latest` names.
class Patchable
{
public:
    explicit Patchable(const std::string& sample, const std::string& tag = {});

    [[nodiscard]] const std::filesystem::path& run() const { return m_run; }
    [[nodiscard]] const std::filesystem::path& tag() const { return m_tag; }
    /// Files of the tag folder whose names end like this, in order.
    [[nodiscard]] std::vector<std::string> filesLike(const std::string& ending) const;
    /// Changes the pickle of a file of the tag folder, or of every one with that ending.
    void operate(const std::string& name, const std::function<void(Surgery&)>& edit) const;
    void operateOnAll(const std::string& ending, const std::function<void(Surgery&)>& edit) const;

    [[nodiscard]] CheckResult check(
        CheckDepth depth = CheckDepth::Metadata, const std::string& target = {}) const;

private:
    TemporaryFolder m_folder{TemporaryFolder::Where::Memory};
    std::filesystem::path m_run;
    std::filesystem::path m_tag;
};

/// Codes of the findings above info.
std::set<std::string> troubles(const CheckResult& result);
/// The first finding of a code; null when there is none.
const DoctorFinding* findingOf(const CheckResult& result, std::string_view code);
/// The same; the test fails when there is none.
const DoctorFinding& requireFinding(const CheckResult& result, std::string_view code);
const DoctorFinding& requireFinding(CheckResult&& result, std::string_view code)
    = delete; ///< it would dangle
/// Its sentence and evidence as one text.
std::string textOf(const DoctorFinding& finding);

} // namespace shardscope::test

/// Sets of codes or samples, in messages of failed checks.
template <>
struct doctest::StringMaker<std::set<std::string>> {
    static doctest::String convert(const std::set<std::string>& words)
    {
        std::string out;
        for (const std::string& word : words)
            out += (out.empty() ? "" : ", ") + word;
        return ("{" + out + "}").c_str();
    }
};
