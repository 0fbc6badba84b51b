// Package plugintest (experimental) checks that a plugin for package [placement] keeps its promise. A plan keeps answers of a plugin and gives them to
// other pods, by what the plugin says that it reads. A plugin that forgets to name a field gives pods wrong nodes, and no error.
//
//	if err := plugintest.Check(bandwidth, pods, nodes); err != nil {
//		t.Error(err) // plugin Bandwidth: AppendKey forgets .Annotations[example.com/gbit], removed: ...
//	}
//
// Check changes every field of the pods and of the nodes, one field at a time. After each change
//
//   - pods with equal keys must have equal answers (AppendKey, AppendRowKey, AppendSharedKey, KeyParts),
//   - nodes with equal signatures, or equal in what Reads names, must have equal answers (KeepByNode),
//   - the answer about a node may change only with what the Group and the Reads of the plugin allow,
//   - a plan that keeps answers for later pods must decide as a plan does that keeps nothing.
//
// The first broken promise is the error. It names the field. The new values of strings are the strings of the pods and nodes, and a few
// words. So give [Check] pods and nodes that have what the plugin reads, with values that make a difference: two pods with other amounts,
// nodes with labels and nodes without. Check does not find a field that changes no answer about these pods and nodes.
//
// [Check] belongs to tests: it asks about thousands of changes, which takes seconds. What all packages promise is said in
// [github.com/podberth/podberth].
package plugintest
