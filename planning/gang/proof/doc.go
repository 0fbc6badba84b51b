// Package proof (experimental) checks what is said about the place of a group of pods: a placement of its members, or the proof that none exists.
//
//	err := proof.CheckPlacement(question, places)              // decides member after member, each on its node
//	err = proof.CheckAbsence(question, absence, proof.Bound{}) // counts again what the proof counts
//
// The package knows nothing of the search that finds them (package gang). It reads the objects, asks the filters of the profile, and
// believes no number that it has not counted itself: a certificate whose numbers differ from the cluster is refused, even if the rest
// of it would prove something.
//
// # What a placement is
//
// A list of members with nodes, in an order. The filters accept each member on its node when all before it are there. All members
// below a group with a topology constraint, those that run included, are in one domain. A group that gets a member has enough members,
// and so has every group above it. At least one member is placed.
//
// # What proves that there is none
//
// For the root, and for enough groups below a composite group, each domain where it could go has one of these proofs:
//
//   - Room: the members that must come are more than the domain takes, by the sum of a resource, by node, by anti-affinity, by spread, or
//     because no node takes some members.
//   - Children: so many children have no place in the domain that the others are too few.
//   - Exhausted: every way to place members one after the other was tried. The checker tries them itself, so the bound of steps counts.
//
// A rejection counts in a [Room] if it lasts whatever other members are placed (see [Lasting]).
//
// Resources are in the integers of the scheduler, thousandths of cpu and bytes. Cost: a placement costs a decision for each
// member; a [Room] costs O(members x nodes) checks of filters, once for equal members. What all packages promise is said in
// [github.com/podberth/podberth].
package proof
