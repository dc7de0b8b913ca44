// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/session.h"

class QStatusBar;

namespace shardscope::ui {

class ElidedLabel;

/// The window's status bar: what is open, the place under the pointer, the sum of what is selected, and how
/// many jobs run.
class StatusLine : public QObject
{
    Q_OBJECT
public:
    StatusLine(Session& session, QStatusBar* bar);

    /// Shows what is open.
    void update();
    void clearPlace();
    void setJobs(int active);

private:
    Session& m_session;
    ElidedLabel* m_title;
    ElidedLabel* m_hover;
    ElidedLabel* m_sum;
    ElidedLabel* m_jobs;
};

} // namespace shardscope::ui
