// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"
#include "ui/style/theme.h"

#include <QTableView>

#include <memory>

namespace shardscope::ui {

class PlannedFilesModel;

/// The files that a plan will write, with their exact sizes: all of them.
class PlannedFiles : public QTableView
{
    Q_OBJECT
public:
    PlannedFiles(Theme& theme, const QString& name, QWidget* parent = nullptr);

    /// Null empties it.
    void setPlan(WritePlanPtr plan);

private:
    PlannedFilesModel* m_model;
};

} // namespace shardscope::ui
