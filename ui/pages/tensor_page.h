// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/selection.h"
#include "ui/pages/page.h"
#include "ui/session/check_run.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/tensor_pages.h"
#include "ui/tensorview/tensor_slice.h"

class QLabel;
class QSplitter;
class QTabWidget;

namespace shardscope::ui {

class ArraySaver;
class ElidedLabel;
class HexView;
class SliceBar;
class TensorGrid;
class TensorHead;
class TensorPictures;
struct ArrayWish;

/// The values of the selected parameter: its states as tabs, a grid of the chosen slice, its bytes, a heat
/// map, a histogram, statistics and anomalies. Reads only the visible part, or samples.
class TensorPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    TensorPage(const PageContext& context, QWidget* parent = nullptr);

    [[nodiscard]] const TensorSourcePtr& source() const { return m_source; }
    [[nodiscard]] ElementCursor& cursor() { return m_cursor; }
    [[nodiscard]] TensorGrid* grid() const { return m_grid; }
    [[nodiscard]] bool isBusy() const override;
    [[nodiscard]] bool canRun(const PageAction& action) const override;
    void askWhereToSave(bool slice);
    /// Writes a NumPy file on a worker; it can be cancelled.
    void saveArray(const ArrayWish& wish, const QString& path);

protected:
    void showCheckpoint() override;
    void follow(const SelectedThing& thing) override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeValues();
    void addActions(QWidget* view);
    void showParam();
    void showState();
    /// To the element of the selection, once.
    void goToElement();
    void showSlice(const TensorSlice& slice);
    void showHealth();
    void showCursor();
    void centreGrid();
    void copyValues();

    ParamId m_param = kNoParam;
    std::string m_state; ///< that is wanted; kept from one parameter to the next
    std::optional<uint64_t> m_element; ///< to go to
    bool m_stale = false; ///< something else was selected while the page was hidden
    bool m_copyWaits = false; ///< for values that are still being read
    TensorSourcePtr m_source;
    TensorPages m_pages;
    ElementCursor m_cursor;

    TensorHead* m_head = nullptr;
    ArraySaver* m_saver = nullptr;
    QLabel* m_empty;
    QSplitter* m_splitter = nullptr;
    SliceBar* m_bar = nullptr;
    QTabWidget* m_tabs = nullptr;
    TensorGrid* m_grid = nullptr;
    HexView* m_hex = nullptr;
    TensorPictures* m_pictures = nullptr;
    ElidedLabel* m_value = nullptr;
    ElidedLabel* m_where = nullptr;
    QLabel* m_selected = nullptr;
};

} // namespace shardscope::ui
