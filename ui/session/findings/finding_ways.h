// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/models/selection.h"

#include <QString>

#include <string>
#include <vector>

namespace shardscope::ui {

/// A link from a finding to its place.
struct FindingWay {
    QString label; ///< "files", "partition map", "parameters"
    SelectedThing thing;
    PageId page = PageId::Overview; ///< that shows it
};

/// A place as people read it: with the names themselves, where an address has %HH.
QString placeText(const Place& where);
/// A fact of a finding, which may be the address of one of its parts, for people.
QString factText(const Finding& finding, const std::string& fact);

/// The links to a place of a finding: a file's name or path, a parameter's name, or an address. Empty if the
/// checkpoint does not have this place.
std::vector<FindingWay> waysTo(const Checkpoint& checkpoint, const Place& where);

} // namespace shardscope::ui
