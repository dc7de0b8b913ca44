// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"
#include "ui/style/theme.h"

#include <QTableWidget>

namespace shardscope::ui {

/// The files that a plan will write, with their exact sizes; the first two thousand of them.
class PlannedFiles : public QTableWidget
{
    Q_OBJECT
public:
    PlannedFiles(Theme& theme, const QString& name, QWidget* parent = nullptr);

    /// Null empties it.
    void setPlan(const WritePlan* plan);
};

} // namespace shardscope::ui
