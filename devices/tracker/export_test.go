package tracker

// FullFilter is Filter, with all methods.
func (t *Tracker) FullFilter(o Options) *pluginFilter { return t.Filter(o).(*pluginFilter) }
