// Package gang (experimental) says whether a place for a group of pods exists, which one, and if there is none, why.
//
//	answer, err := gang.Find(proof.Question{Snapshot: snapshot, Queued: members}, gang.Options{})
//	switch answer.Outcome {
//	case gang.Exists:  // answer.Places has the node of each member
//	case gang.None:    // answer.Absence proves it
//	case gang.Unknown: // answer.Steps were not enough; answer.Places is the most that was found
//	}
//
// kube-scheduler places the members of a group one after the other and takes none back. A group can wait although a place exists. Find
// looks for any placement that the filters accept in some order (package [proof] says exactly what that is), with topology constraints and
// composite groups.
//
// # How it searches
//
//  1. Counting. For each domain of the root: are the members that must come more than it takes? If every domain is closed, that is the proof.
//  2. Dives. Members go to nodes by size and by how full the nodes are, in several orders, without coming back.
//  3. Exhaustion. All ways, nodes that are alike once. Where a rejection can end when another member is placed (required pod affinity, a
//     spread constraint), all orders are tried too.
//
// Members whose filters look at no other pod are placed by amounts alone. Every placement is decided again, member after member.
//
// # Bounds and cost
//
// [Options.Steps] and [Options.Stop] bound the search: a step puts one member on one node. The same question and steps give
// the same answer. What all packages promise is said in [github.com/podberth/podberth].
//
// Cost: a question asks the filters once for each kind of member and node. A step costs O(nodes of the domain) at most; docs/gang.md has
// measurements.
package gang
