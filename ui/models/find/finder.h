// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/find/filter_text.h"
#include "ui/models/parameters/parameter_index.h"
#include "ui/models/selection.h"

#include <QString>

#include <optional>
#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// The groups of what was found, in the order of the list. Terms come first while a term is being typed.
enum class FindGroup : uint8_t { Places, Ranks, Layers, Parameters, Files, Terms, Saved, Commands };

/// One thing that was found.
struct FindHit {
    FindGroup group = FindGroup::Parameters;
    QString text;
    QString detail = {}; ///< shape and size, a key, what a term means
    std::vector<qsizetype> letters = {}; ///< of `text`: those that were typed
    SelectedThing thing = {}; ///< to go to
    std::optional<PageId> page = {}; ///< Places: that shows what was asked for
    QString typed = {}; ///< Terms, Saved: the text of the field from now on
    uint32_t command = 0; ///< Commands: which of those asked
};

/// A command of the window.
struct FindCommand {
    QString text;
    QString key;
};

/// What to find, and in what. Null members: nothing of that kind.
struct FindQuery {
    QString typed; ///< with ">" first: only commands
    CheckpointPtr checkpoint;
    ParameterIndexPtr index; ///< of the checkpoint
    SelectedThing selected; ///< what offsets count in
    std::vector<FindCommand> commands;
    std::vector<FilterTerm> terms; ///< of the filter that the field has
    QStringList saved; ///< filters
};

struct FindList {
    std::vector<FindHit> hits; ///< group by group, the best first
    size_t more = 0; ///< parameters that match but are not among the hits
    QString problem; ///< why a text that looks like an address leads nowhere
};

/// The best matches. For workers: with 300,000 parameters it takes tens of milliseconds.
FindList find(const FindQuery& query, const std::stop_token& token);

/// Whether the text names a place, or begins to, or is a command: it is no filter.
[[nodiscard]] bool looksLikePlace(const QString& typed);

/// "Parameters"
QString findGroupText(FindGroup group);

} // namespace shardscope::ui
