/** Where the person is in the tour, kept over a reload. */

import { NEW_TOUR, type Tour } from "../core/tour.ts"

const KEY = "madang.tour"

export function readTour(): Tour {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "null")
    return typeof value === "object" && value !== null ? { ...NEW_TOUR, ...value } : NEW_TOUR
  } catch {
    return NEW_TOUR
  }
}

export function writeTour(tour: Tour): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(tour))
  } catch {
    // The storage is full: after a reload the tour begins anew.
  }
}
